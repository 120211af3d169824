"""The gallery of bugs: what a bug.toml may say, what counts as recorded, `rondo bugs check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rondo.campaign.bug_check import check_bugs, script_verdict
from rondo.findings.bugs import FILE, Bug, BugError, Outcome, read_bug, read_bugs
from rondo.findings.reproducer import compose, save
from rondo.oracle.run import execute
from tests.campaign.conftest import HARMLESS, STALE, TOY, VOCABULARY
from tests.findings.conftest import Invoke
from tests.toy_framework import ToyFramework

TOML = """\
title = "a stale factor"
framework = "toy"
script = "script.py"
status = "new"
searches = ["stale factor"]
layer = "dynamo-guards"
cause = "toy.py, Scale"
{sequence}
[verdicts]
"2.0" = "{verdict}"
"""
SHOWS = "print('BUG: 1 instead of 2')\nraise SystemExit(1)\n"


def entry(
    folder: Path, *, verdict: str = "stateful", data: bytes = b"", script: str = SHOWS
) -> Path:
    folder.mkdir(parents=True)
    sequence = ""
    if data == STALE:
        result = execute(data, ToyFramework())
        found = compose(data, result.alarms[0], VOCABULARY, result=result)
        save(found, folder / "reproducer.rondo")
        sequence = 'sequence = "reproducer.rondo"\n'
    elif data:
        (folder / "plain.seq").write_bytes(data)
        sequence = 'sequence = "plain.seq"\n'
    (folder / "script.py").write_text(script)
    (folder / FILE).write_text(TOML.format(verdict=verdict, sequence=sequence))
    return folder


@pytest.fixture
def bug(tmp_path: Path) -> Bug:
    folder = entry(tmp_path / "stale", data=STALE)
    text = (folder / FILE).read_text()
    (folder / FILE).write_text(text + '"2.2" = "agree"\n')
    return read_bug(folder / FILE)


@pytest.mark.parametrize(
    ("version", "verdict", "recorded", "exact"),
    [
        ("2.0.0+cpu", "stateful", "2.0", True),
        ("2.1", "stateful", "2.0", False),
        ("2.2", "agree", "2.2", True),
        ("2.10.0a0+git1", "agree", "2.2", False),
        ("1.9", "stateful", "2.0", False),
        ("", "agree", "2.2", True),
    ],
)
def test_the_record_of_a_version_is_its_own_or_that_of_the_one_before(
    bug: Bug, version: str, verdict: str, recorded: str, exact: bool
) -> None:
    expected = bug.expected(version)
    assert (expected.verdict, expected.version, expected.exact) == (verdict, recorded, exact)


def test_a_bug_that_is_gone_is_news_only_where_nothing_was_recorded(bug: Bug) -> None:
    assert bug.verdict == "stateful"
    assert bug.expected("2.0").judge("stateful") is Outcome.SAME
    assert bug.expected("2.0").judge("agree") is Outcome.OTHER
    assert bug.expected("2.1").judge("agree") is Outcome.GONE
    assert bug.expected("2.1").judge("masked") is Outcome.OTHER
    assert bug.expected("2.3").judge("stateful") is Outcome.OTHER, "it is back"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("title =", "titel =", "'titel' is not known here"),
        ('title = "a stale factor"\n', "", "'title' is missing"),
        ('"a stale factor"', "3", "'title' must be a text"),
        ('"toy.py, Scale"', '""', "'cause' must be a text"),
        ('"new"', '"fresh"', "the status is not new, public or documented"),
        ('"new"', '"public"', "needs an http or https link as 'url'"),
        ('searches = ["stale factor"]\n', "", "a new bug needs 'searches'"),
        ('["stale factor"]', "[1]", "'searches' must be a list of texts"),
        ('"script.py"', '"other.py"', "there is no 'other.py' beside it"),
        ('"script.py"', '"../script.py"', "must be a file beside it"),
        ('"2.0"', '"two"', "'two' is no version"),
        ('"stateful"', '"wrong"', "the verdict of 2.0 is none of"),
        ('"stateful"', '"agree"', "must name one verdict besides agree"),
        ('"2.0" = "stateful"\n', "", "'verdicts' must be a table"),
        ('status = "new"', 'status = "new"\nbucket = "A b"', "'A b' is no bucket's name"),
        ("[verdicts]", "[verdicts", "Expected ']'"),
    ],
)
def test_bad_metadata_is_one_line_that_names_the_file(
    invoke: Invoke, tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = entry(tmp_path / "bugs" / "stale") / FILE
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    done = invoke("bugs", "check", tmp_path)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {path}: ")
    assert told in line


def test_a_folder_without_bugs_is_told_in_one_line(invoke: Invoke, tmp_path: Path) -> None:
    with pytest.raises(BugError, match=r"no bug\.toml in"):
        read_bugs(tmp_path)
    done = invoke("bugs", "check", tmp_path / "nowhere")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    entry(tmp_path / "stale")
    done = invoke("bugs", "check", tmp_path, "--framework", "torch")
    assert (done.exit_code, done.stderr) == (2, f"error: no bug of torch in {tmp_path}\n")


def test_every_entry_is_replayed_and_told(invoke: Invoke, tmp_path: Path) -> None:
    entry(tmp_path / "stale", data=STALE)
    entry(tmp_path / "other" / "script_alone")
    done = invoke("bugs", "check", tmp_path, "--framework", TOY, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["good"]
    rows = [(row["name"], row["recorded"], row["now"], row["outcome"]) for row in told["bugs"]]
    assert rows == [
        ("script_alone", "stateful", "stateful", "yes"),
        ("stale", "stateful", "stateful", "yes"),
    ]


def test_a_verdict_that_is_not_the_recorded_one_fails(invoke: Invoke, tmp_path: Path) -> None:
    entry(tmp_path / "gone", data=HARMLESS)
    entry(tmp_path / "stale", data=STALE)
    entry(tmp_path / "crash", script="import os\nos.abort()\n")
    done = invoke("bugs", "check", tmp_path, "--framework", TOY)
    assert done.exit_code == 1
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if " toy " in line}
    assert rows["gone"][-3:] == ["(2.0)", "agree", "NO"]
    assert rows["stale"][-3:] == ["(2.0)", "stateful", "yes"]
    assert rows["crash"][-2:] == ["died", "NO"]
    assert done.stdout.splitlines()[-1] == "1 of 3 as recorded, 2 NO"


def test_a_sequence_of_another_bug_does_not_pass(invoke: Invoke, tmp_path: Path) -> None:
    folder = entry(tmp_path / "stale", data=STALE)
    text = (folder / FILE).read_text()
    name = "stateful-value-other-000000"
    (folder / FILE).write_text(f'bucket = "{name}"\n{text}')
    done = invoke("bugs", "check", tmp_path, "--framework", TOY, "--json")
    assert done.exit_code == 1
    (row,) = json.loads(done.stdout)["bugs"]
    assert (row["now"], row["outcome"]) == ("unclear", "NO")
    assert row["note"].startswith("its sequence is of another bucket: stateful-")


def test_nothing_runs_while_a_sequence_cannot_be_read(invoke: Invoke, tmp_path: Path) -> None:
    entry(tmp_path / "a", data=STALE)
    cut = entry(tmp_path / "b", data=STALE) / "reproducer.rondo"
    cut.write_bytes(cut.read_bytes()[:40])
    done = invoke("bugs", "check", tmp_path, "--framework", TOY)
    assert (done.exit_code, done.stdout) == (2, "")
    assert str(cut) in done.stderr


def test_a_script_must_say_what_its_sequence_says(invoke: Invoke, tmp_path: Path) -> None:
    entry(tmp_path / "right", data=STALE)
    entry(tmp_path / "wrong", data=STALE, script="print('ok: nothing')\n")
    arguments = ("bugs", "check", tmp_path, "--framework", TOY, "--json")
    assert invoke(*arguments).exit_code == 0
    done = invoke(*arguments, "--scripts")
    assert done.exit_code == 1
    right, wrong = json.loads(done.stdout)["bugs"]
    assert (right["outcome"], wrong["outcome"]) == ("yes", "NO")
    assert wrong["note"] == "stateful, but its script: agree"


def test_an_entry_of_a_framework_that_is_not_there_is_skipped(tmp_path: Path) -> None:
    bug = read_bug(entry(tmp_path / "stale") / FILE)
    (row,) = check_bugs([bug], seconds=10)
    assert (row.outcome, row.note) == (Outcome.SKIPPED, "toy is not installed")


def test_a_script_that_hangs_or_says_two_things_is_no_bug(tmp_path: Path) -> None:
    entry(tmp_path / "hang", script="import time\ntime.sleep(60)\n")
    entry(tmp_path / "unclear", script="print('BUG: a')\nprint('ok: b')\n")
    hang, unclear = read_bugs(tmp_path)
    assert script_verdict(hang, 2.0) == ("died", "it hung")
    assert script_verdict(unclear, 60.0)[0] == "unclear"
