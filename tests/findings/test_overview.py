"""rondo triage and rondo known: one row for each bug, whatever campaigns met it."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from rondo.findings.bucket import bucket_of, bucket_of_finding
from rondo.findings.bugs import read_bugs
from rondo.findings.known import Known, KnownBuckets, KnownError, known_below
from rondo.findings.overview import overview_of
from rondo.findings.reproducer import Reproducer, compose, load, save
from rondo.oracle.run import execute
from rondo.sequences.codec import decode
from tests.campaign.conftest import DYNAMIC, STALE, VOCABULARY, toy_bytes
from tests.findings.conftest import Invoke
from tests.findings.test_commands import Run
from tests.findings.test_shorten import LONG
from tests.toy_framework import ToyFramework

FOUND = Path(__file__).parents[2] / "bench" / "bugs" / "torch"
URL = "https://example.org/1"
LONG_NAME = "a" * 300
"""A path that no file system takes."""


def finding(data: bytes, **fields: object) -> Reproducer:
    result = execute(data, ToyFramework())
    return compose(data, result.alarms[0], VOCABULARY, result=result, **fields)


def put(folder: Path, reproducer: Reproducer, name: str = "reproducer.rondo") -> Path:
    path = folder / bucket_of_finding(reproducer).name / name
    save(reproducer, path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two campaigns that share a bug, a second bug, and two alarms of no fresh process."""
    stale = finding(STALE, minimal=True)
    put(tmp_path / "one", stale)
    put(tmp_path / "two", replace(stale, minimal=False, original=LONG))
    put(tmp_path / "two", finding(DYNAMIC))
    for name in ("a", "b"):
        for suffix, text in ((".seq", b"RQ"), (".txt", b"stateful: odd\x1b[2J\n")):
            path = tmp_path / "one" / "flaky" / f"{name}{suffix}"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text)
    return tmp_path


def known(folder: Path) -> dict[str, Known]:
    return KnownBuckets(folder / "known.json").buckets


def test_show_tells_minimality_and_layer(folder: Path, invoke: Invoke) -> None:
    stale = finding(STALE)
    for fields, told in (
        ({"minimal": True, "layer": "guards"}, ["minimal: yes", "layer: guards"]),
        ({"reason": "it was interrupted"}, ["minimal: it was interrupted"]),
        ({}, ["minimal: not known"]),
    ):
        save(replace(stale, **fields), folder / "one.rondo")
        lines = invoke("show", folder / "one.rondo").stdout.splitlines()
        assert [line for line in lines if line.startswith(("minimal", "layer"))] == told


def test_each_bug_is_a_row(folder: Path) -> None:
    overview = overview_of(folder, known(folder))
    assert [(row.status, row.count) for row in overview.rows] == [
        ("new", 2),
        ("new", 1),
        ("flaky", 2),
    ]
    stale, dynamic, flaky = overview.rows
    assert (stale.steps, stale.minimal, dynamic.steps, dynamic.minimal) == (3, True, 4, False)
    assert stale.path.startswith(str(folder / "one"))
    assert flaky.title == "stateful: odd?[2J"
    assert overview.unreadable == ()


def test_every_alarm_of_undecided_bytes_has_a_row(folder: Path) -> None:
    for name, text in (("a", "one\ntwo\n"), ("b", "two\n"), ("c", "")):
        path = folder / "one" / "unconfirmed" / f"{name}.seq"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"RQ")
        path.with_suffix(".txt").write_text(text)
    rows = [row for row in overview_of(folder, known(folder)).rows if row.status == "unconfirmed"]
    assert {row.title: row.count for row in rows} == {"one": 1, "two": 2, "": 1}


def test_first_seen_is_the_oldest_file(folder: Path) -> None:
    path = next((folder / "two").glob("*stale*/*.rondo"))
    os.utime(path, (0, 0))
    assert overview_of(folder, known(folder)).rows[0].first_seen == "1970-01-01 00:00"


def test_a_short_form_beside_a_finding_is_the_same_finding(folder: Path) -> None:
    long = finding(LONG)
    short = put(folder / "one", finding(STALE, original=LONG), "reproducer.short.rondo")
    assert bucket_of_finding(long) != bucket_of_finding(load(short))
    assert overview_of(folder, known(folder)).rows[0].count == 2


def test_a_damaged_file_is_told_and_the_rest_is_shown(folder: Path) -> None:
    (folder / "one" / "broken.rondo").write_bytes(b"\xdd\xff\xff\xff\xff")
    overview = overview_of(folder, known(folder))
    (told,) = overview.unreadable
    assert "broken.rondo" in told
    assert len(overview.rows) == 3


def test_a_layer_tells_bugs_of_one_bucket_apart(folder: Path) -> None:
    path = next((folder / "one").glob("*stale*/*.rondo"))
    stale = load(path)
    assert len(overview_of(folder, known(folder)).rows) == 3
    save(replace(stale, layer="guards"), path)
    rows = overview_of(folder, known(folder)).rows
    assert (rows[0].layer, rows[0].count) == ("guards", 2)
    put(folder / "three", replace(stale, layer="disk cache"))
    rows = overview_of(folder, known(folder)).rows
    assert sorted((row.layer, row.count) for row in rows if "stale" in row.bucket) == [
        ("", 1),
        ("disk cache", 1),
        ("guards", 1),
    ]


def test_a_bucket_keeps_its_name_when_it_is_located() -> None:
    bucket = bucket_of_finding(finding(STALE))
    located = replace(bucket, layer="guards")
    assert (located, located.name, hash(located)) == (bucket, bucket.name, hash(bucket))


def test_names_of_buckets_never_change() -> None:
    """They are written down: folders of findings and lists of known bugs hold them."""
    bugs = [bug for bug in read_bugs(FOUND) if bug.sequence]
    for bug in bugs:
        assert bucket_of_finding(load(bug.folder / bug.sequence)).name == bug.bucket
    assert len(bugs) >= 5


def test_the_bucket_follows_from_names_alone() -> None:
    for data in (STALE, DYNAMIC, LONG):
        reproducer = finding(data)
        of_bytes = bucket_of(reproducer.identity, decode(data, VOCABULARY))
        assert bucket_of_finding(reproducer) == of_bytes


def test_known_buckets_are_marked(folder: Path, invoke: Invoke) -> None:
    rows = overview_of(folder, known(folder)).rows
    path = Path(rows[0].path)
    done = invoke("known", "add", path, URL, "--file", folder / "known.json")
    assert (done.exit_code, URL in done.stdout) == (0, True)
    done = invoke(
        "known", "add", rows[1].bucket, URL, "--documented", "--file", folder / "known.json"
    )
    assert done.exit_code == 0
    done = invoke("triage", folder)
    assert done.exit_code == 0
    assert "1 known, 1 documented, 1 flaky" in done.stdout
    told = json.loads(invoke("triage", folder, "--json").stdout)
    assert [row["status"] for row in told["rows"]] == ["known", "documented", "flaky"]
    assert told["rows"][0]["url"] == URL
    listed = invoke("known", "list", folder).stdout.splitlines()
    assert sorted(line.split()[0] for line in listed) == ["documented", "known"]


def test_a_note_is_taken_back(folder: Path, invoke: Invoke) -> None:
    bucket = next((folder / "one").glob("*stale*"))
    path = folder / "one" / "known.json"
    done = invoke("known", "remove", bucket)
    assert (done.exit_code, done.stderr) == (2, f"error: there is no list {path}\n")
    before = invoke("triage", folder).stdout
    assert invoke("known", "add", bucket, URL).exit_code == 0
    assert invoke("triage", folder).stdout != before
    done = invoke("known", "remove", bucket)
    assert done.exit_code == 0
    assert done.stdout == f"{bucket.name} was known from {URL}; no longer noted in {path}\n"
    assert invoke("triage", folder).stdout == before
    done = invoke("known", "remove", bucket)
    assert (done.exit_code, done.stderr) == (2, f"error: {path} notes no {bucket.name}\n")
    done = invoke("known", "remove", "nothing", "--file", path)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


def test_the_list_lies_in_the_folder_of_findings(folder: Path, invoke: Invoke) -> None:
    bucket = next((folder / "one").glob("*stale*"))
    for what in (bucket, bucket / "reproducer.rondo"):
        assert invoke("known", "add", what, URL).exit_code == 0
    assert list(known(folder / "one")) == [bucket.name]
    for above in (folder / "one", folder):
        assert "1 known" in invoke("triage", above).stdout
        assert bucket.name in invoke("known", "list", above).stdout


def test_of_two_lists_the_one_nearer_to_the_folder_counts(folder: Path, invoke: Invoke) -> None:
    bucket = next((folder / "one").glob("*stale*"))
    assert invoke("known", "add", bucket, URL).exit_code == 0
    nearer = ("--documented", "--file", folder / "known.json")
    assert invoke("known", "add", bucket.name, "https://x/other", *nearer).exit_code == 0
    assert known_below(folder)[bucket.name].url == "https://x/other"
    assert known_below(folder / "one")[bucket.name].url == URL


def test_a_stray_reproducer_is_noted_beside_it(tmp_path: Path, invoke: Invoke) -> None:
    save(finding(STALE), tmp_path / "mine" / "bug.rondo")
    assert invoke("known", "add", "mine/bug.rondo", URL).exit_code == 0
    assert invoke("triage", "mine").stdout.startswith("status")
    assert "1 known" in invoke("triage", "mine").stdout
    save(finding(DYNAMIC), tmp_path / "mine" / "other.rondo")
    done = invoke("known", "add", "mine", URL)
    assert (done.exit_code, "mine holds 2 buckets" in done.stderr) == (2, True), done.stderr


def test_a_list_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "known.json").symlink_to(tmp_path / "shared.json")
    KnownBuckets(tmp_path / "findings" / "known.json").add("stateful-x-012345", URL)
    assert (tmp_path / "findings" / "known.json").is_symlink()
    assert list(KnownBuckets(tmp_path / "shared.json").buckets) == ["stateful-x-012345"]


def test_notes_made_at_the_same_moment_are_all_kept(tmp_path: Path) -> None:
    names = [f"stateful-x-{number:06x}" for number in range(40)]
    lists = [KnownBuckets(tmp_path / "new" / "known.json") for _ in names]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda row, name: row.add(name, URL), lists, names))
    assert sorted(KnownBuckets(tmp_path / "new" / "known.json").buckets) == names


def test_texts_of_a_merged_list_cannot_steer_a_terminal(tmp_path: Path) -> None:
    rows = {"stateful-x-012345": {"url": "https://x/\x1b[2J"}}
    document = {"format": "rondo-known", "version": 1, "buckets": rows}
    (tmp_path / "known.json").write_text(json.dumps(document))
    assert known(tmp_path)["stateful-x-012345"].url == "https://x/?[2J"


def test_names_of_no_encoding_are_printed_all_the_same(tmp_path: Path, rondo: Run) -> None:
    odd = tmp_path / os.fsdecode(b"\xffodd")
    path = put(odd, finding(STALE))
    done = rondo("known", "add", path, URL)
    assert (done.returncode, r"\udcffodd" in done.stdout) == (0, True), done.stderr
    done = rondo("triage", odd)
    assert (done.returncode, r"\udcffodd" in done.stdout) == (0, True), done.stderr


def test_what_is_no_file_holds_nobody_up(folder: Path) -> None:
    os.mkfifo(folder / "pipe.rondo")
    (folder / "one" / "flaky" / "c.txt").mkdir()
    (folder / "one" / "flaky" / "c.seq").write_bytes(b"RQ")
    overview = overview_of(folder, known(folder))
    assert overview.unreadable == (f"{folder / 'pipe.rondo'} is no file",)
    assert len(overview.rows) == 3


def test_a_bucket_is_named_without_a_file(folder: Path, invoke: Invoke) -> None:
    name = bucket_of_finding(finding(toy_bytes("stale_scale"))).name
    done = invoke("known", "add", name, URL)
    assert (done.exit_code, f"findings holds no {name}" in done.stderr) == (2, True)
    assert not Path("findings").exists()
    Path("findings", name).mkdir(parents=True)
    assert invoke("known", "add", name, URL).exit_code == 0
    assert f"known       {known(Path('findings'))[name].added}  {name}  {URL}" in (
        invoke("known", "list").stdout
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("triage", "nowhere"), "nowhere is no folder of findings"),
        (("known", "add", "Not A Name", URL), "is no bucket's name"),
        (("known", "add", "nowhere/reproducer.rondo", URL), "there is no file nowhere"),
        (("known", "add", "stateful-x-012345", "javascript:alert(1)"), "no http or https link"),
        (("known", "add", "stateful-x-012345", "https://"), "no http or https link"),
        (("known", "add", "noise.rondo", URL), "not a reproducer"),
        (("known", "list", "--file", "noise.rondo"), "is not JSON"),
        (("known", "list", "--file", "other.json"), "is no list of known buckets"),
        (("known", "list", "--file", "newer.json"), "version 2; this Rondo reads 1"),
        (("known", "list", "--file", "escape.json"), r"'\x1b[2J' is no bucket's name"),
        (("known", "add", "stateful-x-012345", "http://["), "no http or https link"),
        (("known", "add", "stateful-x-012345", "https://x/\x1b[2J"), "no http or https link"),
        (("known", "add", "stateful-x-012345", "https://x/a b"), "no http or https link"),
        (("known", "add", "stateful-x-012345", URL, "--file", "noise.rondo/x"), "cannot read"),
        (("known", "add", LONG_NAME, URL), "is no bucket's name"),
        (("known", "list", LONG_NAME), "is no folder of findings"),
        (("triage", LONG_NAME), "is no folder of findings"),
        (("export", "noise.rondo", "--out", LONG_NAME), "File name too long"),
        (("export", "noise.rondo", "--out", "noise.rondo/x"), "noise.rondo is no folder"),
        (("shrink", "plain.seq", "--out", "plain.seq.trials"), "where the trials are kept"),
        (("locate", "plain.seq", "--save"), "plain.seq is a plain sequence"),
        (("triage", ".", "--file", "."), "cannot read"),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, invoke: Invoke, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "noise.rondo").write_bytes(b"\x93noise")
    (tmp_path / "other.json").write_text("[]")
    (tmp_path / "plain.seq").write_bytes(STALE)
    escape = {"format": "rondo-known", "version": 1, "buckets": {"\x1b[2J": {"url": URL}}}
    (tmp_path / "escape.json").write_text(json.dumps(escape))
    (tmp_path / "newer.json").write_text('{"format": "rondo-known", "version": 2}')
    done = invoke(*arguments)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr
    assert says in done.stderr


@pytest.mark.parametrize(
    "row",
    [
        1,
        {},
        {"url": 1},
        {"url": "u", "status": "odd"},
        {"url": "u", "more": "x"},
        {"status": "known"},
    ],
)
def test_damaged_lists_are_refused(tmp_path: Path, row: object) -> None:
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"format": "rondo-known", "version": 1, "buckets": {"x": row}}))
    with pytest.raises(KnownError):
        KnownBuckets(path)


def test_an_empty_folder_has_no_findings(tmp_path: Path, invoke: Invoke) -> None:
    assert invoke("triage", tmp_path).stdout == "no findings\n"
    assert "nothing is known yet" in invoke("known", "list", tmp_path).stdout
