"""What `bench/recall.py` takes for a bug of the public record, and what it makes of campaigns."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from recall import Court, Found, Known, Row, read_campaigns, read_record, recall, soonest, verdict  # noqa: E402

from rondo.findings.reproducer import Reproducer, load  # noqa: E402

RECORD = {known.name: known for known in read_record()}
HANDED = sorted((ROOT / "tests" / "findings" / "handed").glob("*.rondo"))
FAULTS = [known for known in RECORD.values() if not known.documented]


def bugs_of(found: Reproducer, layer: str) -> list[str]:
    return [known.name for known in RECORD.values() if known.matches(found, layer)]


def row(sampler: str, *found: tuple[str, float], seconds: float = 100.0) -> Row:
    findings = [Found(f"bucket-{name}", at, 1, "", name) for name, at in found]
    return Row(sampler, 1, seconds, findings=findings)


def test_the_record_has_a_handed_reproducer_for_each_fault() -> None:
    assert sorted(known.name for known in FAULTS) == [path.stem for path in HANDED]


@pytest.mark.parametrize("path", HANDED, ids=lambda path: path.stem)
def test_a_handed_reproducer_is_its_own_bug_and_no_other(path: Path) -> None:
    found = load(path)
    assert bugs_of(found, RECORD[path.stem].layers[0]) == [path.stem]
    assert bugs_of(found, "") == [path.stem], "not located: the back end decides"


def test_another_cause_is_another_bug() -> None:
    found = load(HANDED[0].with_name("list_arg_alias.rondo"))
    assert bugs_of(found, "inductor-codegen") == []
    elsewhere = replace(found, identity=replace(found.identity, backend="inductor"))
    assert bugs_of(elsewhere, "") == []
    stateless = replace(found, identity=replace(found.identity, verdict="stateless"))
    assert bugs_of(stateless, "dynamo-guards") == []
    both = {**found.decoded, "constructs": ["list_alias", "class_method"]}
    assert bugs_of(replace(found, decoded=both), "dynamo-guards") == []


def test_recall_is_the_mean_over_campaigns() -> None:
    counted = [RECORD["list_arg_alias"], RECORD["builtin_shadowed_later"]]
    rows = [
        row("mcmc", ("list_arg_alias", 10.0), ("builtin_shadowed_later", 30.0)),
        row("mcmc", ("", 5.0), ("list_arg_alias", 20.0)),
    ]
    assert recall(rows, counted) == 0.75
    assert soonest(rows, counted) == (10 + 30 + 20 + 100) / 4, "missed: the whole time"
    assert recall([], counted) == 0.0


def test_a_bug_that_was_found_with_another_cause_is_said_to_be(tmp_path: Path) -> None:
    known = RECORD["list_arg_alias"]
    court = Court([known])
    filed = Found("value ... [list_alias]", 3.0, 1, "inductor-codegen", "", ("list_alias",))
    missing = Row("mcmc", 1, 100.0, findings=[filed])
    assert court.why_missed(known, missing, tmp_path) == (
        "found with another cause: value ... [list_alias], located in inductor-codegen"
    )


@pytest.mark.parametrize(
    ("mcmc", "random", "stateless", "holds"),
    [
        ((0.7, 50.0), (0.6, 40.0), (0.0, 100.0), True),
        ((0.7, 50.0), (0.7, 60.0), (0.0, 100.0), True),
        ((0.7, 60.0), (0.7, 50.0), (0.0, 100.0), False),
        ((0.5, 10.0), (0.2, 60.0), (0.0, 100.0), False),
        ((0.7, 50.0), (0.6, 40.0), (0.2, 100.0), False),
    ],
)
def test_the_target_is_recall_lead_and_silence(
    mcmc: tuple[float, float],
    random: tuple[float, float],
    stateless: tuple[float, float],
    holds: bool,
) -> None:
    figures = {"mcmc": mcmc, "random": random, "stateless": stateless}
    shares = {name: share for name, (share, _) in figures.items()}
    times = {name: seconds for name, (_, seconds) in figures.items()}
    assert verdict(shares, times, quick=False)[1] is holds


def test_rows_survive_being_written(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    kept = row("random", ("list_arg_alias", 3.0))
    kept.missed = {"rng_random_object": "no kept sequence holds it"}
    path.write_text(json.dumps(asdict(kept)) + "\n")
    assert read_campaigns(path) == [kept]
    assert read_campaigns(tmp_path / "none") == []


def test_a_bug_of_the_record_says_where_it_was_reported() -> None:
    for known in RECORD.values():
        assert isinstance(known, Known)
        assert known.report.startswith("https://") or known.name == "builtin_shadowed_later"
        assert known.documented or (known.constructs and known.layers and known.exposing)
