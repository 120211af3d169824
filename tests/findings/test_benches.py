"""What the benches over campaigns count, told by rows of a few words; nothing of torch is run."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

BENCH = str(Path(__file__).parents[2] / "bench")
sys.path.insert(0, BENCH)
import buckets  # noqa: E402  (scripts of the bench, not a package)
from filed import Ledger, filed  # noqa: E402

sys.path.remove(BENCH)

from rondo.errors import ArtifactError  # noqa: E402
from rondo.findings.bucket import bucket_of_finding  # noqa: E402
from rondo.findings.locate import Inspection, Located, Touched  # noqa: E402
from rondo.findings.reproducer import load, save  # noqa: E402
from rondo.oracle.result import Alarm, Difference, Identity  # noqa: E402

GOLDEN = Path(__file__).parent / "golden" / "version-1.rondo"
IDENTITY = Identity("stateful", "value", "eager", "output", "a change")


def rows(**campaigns: dict[str, str]) -> list[Any]:
    """Return rows: campaign -> bucket -> cause."""
    return [
        buckets.Row(name, bucket, cause)
        for name, found in campaigns.items()
        for bucket, cause in found.items()
    ]


def test_shared_findings_in_one_bucket_are_what_is_counted() -> None:
    figures = buckets.compare(rows(A={"a": "1", "b": "2"}, B={"a": "1", "c": "3"}))
    assert (figures.findings, figures.shared, figures.same, figures.rate) == (4, 2, 2, 1.0)
    assert figures.good


def test_one_bug_in_two_buckets_counts_against_it() -> None:
    figures = buckets.compare(rows(A={"a": "1", "b": "2"}, B={"a": "1", "other": "2"}))
    assert (figures.shared, figures.same, figures.split) == (4, 2, {"2": ["b", "other"]})
    assert not figures.good


def test_two_bugs_in_one_bucket_are_never_good() -> None:
    figures = buckets.compare(rows(A={"a": "1", "b": "2"}, B={"a": "3", "b": "2"}))
    assert figures.rate == 1.0
    assert figures.mixed == {"a": ["1", "3"]}
    assert not figures.good


def test_nothing_shared_or_nothing_told_is_not_good() -> None:
    assert not buckets.compare(rows(A={"a": "1"}, B={"b": "2"})).good
    figures = buckets.compare(rows(A={"a": ""}, B={"a": ""}))
    assert not figures.good
    assert len(figures.untold) == 2


def located(changed: tuple[Touched, ...], compiled_at: int = 0) -> Located:
    seen = Inspection(entry="0/0", compiled_at=compiled_at, changed=changed)
    return Located("dynamo-guards", "", ("compiled code",), "eager", (), (), 0, 2, (), seen)


def test_a_cause_is_the_missing_guard_and_no_value() -> None:
    alarm = Alarm(2, IDENTITY, (Difference("output[0]", "value", "1", "2"),))

    def shift(after: str) -> tuple[Touched, ...]:
        values = Touched("hidden", "values", "1", after)
        return (Touched("file.Knobs.shift", "state", "absent", after), values)

    cause = buckets.cause_of(alarm, located(shift("2.0")))
    assert cause == "dynamo-guards; first on eager; no guard on file.Knobs.shift"
    assert buckets.cause_of(alarm, located(shift("4.0"))) == cause
    other = replace(IDENTITY, effect="dtype", exposing="another change")
    assert buckets.cause_of(replace(alarm, identity=other), located(shift("2.0"))) == cause


def test_a_cause_without_a_missing_guard_is_its_cure_and_what_changed() -> None:
    alarm = Alarm(2, IDENTITY, (Difference("", "exception", "returns", "raises KeyError"),))
    random = (Touched("source", "random state", "", ""),)
    assert buckets.cause_of(alarm, located(random)) == (
        "dynamo-guards; first on eager; cured by compiled code; changed source;"
        " eager returns, compiled raises KeyError"
    )


def test_a_ledger_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "state", "rows")
    ledger.add("one", {"steps": 3})
    ledger.add("two", {"steps": 4})
    path = tmp_path / "state" / "rows.jsonl"
    path.write_text(path.read_text()[:-9])
    again = Ledger(tmp_path / "state", "rows")
    assert (again.get("one"), again.get("two")) == ({"steps": 3}, None)
    again.add("two", {"steps": 5})
    assert Ledger(tmp_path / "state", "rows").get("two") == {"steps": 5}
    assert Ledger(None, "rows").get("one") is None


def test_findings_of_a_campaign_are_one_for_each_bucket(tmp_path: Path) -> None:
    golden = load(GOLDEN)
    name = bucket_of_finding(golden).name
    for folder in ("first", "second"):
        (tmp_path / folder / name).mkdir(parents=True)
        save(golden, tmp_path / folder / name / "reproducer.rondo")
    (found,) = filed(tmp_path)
    assert (found.name, found.bucket.name) == (name, name)
    assert filed(tmp_path, (name[:12],)) == [found]
    with pytest.raises(ArtifactError, match="no findings that are asked for"):
        filed(tmp_path, ("nothing of the kind",))
    with pytest.raises(ArtifactError, match="no folder"):
        filed(tmp_path / "missing")
    save(replace(golden, preloads=("mine.py",)), tmp_path / "first" / name / "reproducer.rondo")
    with pytest.raises(ArtifactError, match="--preload"):
        filed(tmp_path)
