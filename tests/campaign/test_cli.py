"""The command `rondo`: fast help, replay, show, list, errors in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rondo.campaign.deaths import DIED
from rondo.commands.list_ import listed
from rondo.commands.show import decoded_lines
from rondo.findings.reproducer import Reproducer, save
from rondo.oracle.result import Identity
from rondo.report.coverage import write_data
from rondo.sequences.codec import decode
from rondo.sequences.step import describe
from tests.campaign.conftest import HARMLESS, STALE, TOY, VOCABULARY, toy_bytes

Run = Callable[..., subprocess.CompletedProcess[str]]
IDENTITY = Identity("stateful", "value", "shallow", "output", "stale_scale.set_factor")
HEAVY = ("torch", "numpy", "rich", "msgpack", "rondo.frameworks", "rondo.campaign")


def written(path: Path, data: bytes, identity: Identity = IDENTITY, **fields: object) -> Path:
    decoded = describe(decode(data, VOCABULARY), VOCABULARY)
    save(Reproducer("toy", data, decoded, identity, 2, **fields), path)  # type: ignore[arg-type]
    return path


def test_help_is_fast_and_imports_nothing_heavy(rondo: Run) -> None:
    best = 10.0
    for _ in range(3):
        began = time.monotonic()
        done = rondo("--help")
        best = min(best, time.monotonic() - began)
    assert done.returncode == 0
    assert "replay" in done.stdout
    assert best < 1.0
    code = "import rondo.cli, sys; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in loaded if name.startswith(HEAVY)] == []


def test_fuzz_is_the_module(rondo: Run, tmp_path: Path) -> None:
    one, other = rondo("fuzz", "-help=1"), rondo("-help=1", module="rondo.fuzz")
    assert one.stdout == other.stdout != ""
    assert rondo("fuzz", "nowhere").returncode == 2
    assert rondo("fuzz", "-jobs=-4", "c").stderr.startswith("error: -jobs=-4 is not usable")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "stale.seq").write_bytes(STALE)
    done = rondo("fuzz", "corpus", "-runs=0", "-error_exitcode=9", "--framework", TOY)
    assert done.returncode == 9, done.stderr


def test_replay_shows_a_bug_that_is_there(rondo: Run, tmp_path: Path) -> None:
    written(tmp_path / "bug.rondo", STALE)
    done = rondo("replay", "bug.rondo", "--framework", TOY)
    assert done.returncode == 1, done.stderr
    assert "the bug shows" in done.stdout
    (row,) = (line for line in done.stdout.splitlines() if line.endswith("stateful"))
    number, step, eager, retained, reset, _ = row.split()
    assert (number, step) == ("2", "call(batch=2)")
    assert eager == reset != retained


def test_replay_tells_that_a_bug_is_gone(rondo: Run, tmp_path: Path) -> None:
    (tmp_path / "fix.py").write_text(
        "import tests.toy_framework as toy\ntoy.NAMES['stale_scale'] = toy.Scale\n"
    )
    written(tmp_path / "bug.rondo", STALE, preloads=("other.py",))
    done = rondo("replay", "bug.rondo", "--framework", TOY, "--preload", "fix.py")
    assert done.returncode == 0, done.stderr
    assert "no bug shows (agree)" in done.stdout
    assert "made with --preload other.py, which was not given" in done.stdout


def test_replay_is_not_fooled_by_another_bug(rondo: Run, tmp_path: Path) -> None:
    identity = Identity("stateless", "value", "shallow", "output", "repeat")
    written(tmp_path / "bug.rondo", STALE, identity)
    done = rondo("replay", "bug.rondo", "--framework", TOY)
    assert done.returncode == 0, done.stderr
    assert "another bug shows" in done.stdout


@pytest.mark.parametrize(
    ("construct", "effect", "detail"), [("crash", "crash", "SIGSEGV"), ("hang", "hang", "")]
)
def test_replay_survives_what_kills(
    rondo: Run, tmp_path: Path, construct: str, effect: str, detail: str
) -> None:
    data = toy_bytes(construct)
    identity = Identity(DIED, effect, "shallow", "retained", f"{construct}.arm", detail)
    written(tmp_path / "bug.rondo", data, identity, death="it died")
    done = rondo("replay", "bug.rondo", "--framework", TOY, "--timeout", "1")
    assert done.returncode == 1, done.stderr
    assert "died here" in done.stdout
    written(tmp_path / "gone.rondo", HARMLESS, identity, death="it died")
    assert rondo("replay", "gone.rondo", "--framework", TOY).returncode == 0


def test_replay_of_a_plain_sequence_and_as_json(rondo: Run, tmp_path: Path) -> None:
    (tmp_path / "stale.seq").write_bytes(STALE)
    done = rondo("replay", "stale.seq", "--framework", TOY, "--json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["shows"] is True
    assert told["expected"] is None
    assert [step["verdict"] for step in told["steps"]] == ["agree", "", "stateful"]
    (tmp_path / "harmless.seq").write_bytes(HARMLESS)
    assert rondo("replay", "harmless.seq", "--framework", TOY).returncode == 0


def test_show_runs_nothing(rondo: Run, tmp_path: Path) -> None:
    data = toy_bytes("crash")
    written(tmp_path / "bug.rondo", data, environment={"toy": "1"}, preloads=("mine.py",))
    done = rondo("show", "bug.rondo")
    assert done.returncode == 0, done.stderr
    for line in ("constructs: crash", "step 1: crash.arm()", "toy: 1", "preload: mine.py"):
        assert line in done.stdout.splitlines()
    (tmp_path / "bug.seq").write_bytes(data)
    plain = rondo("show", "bug.seq", "--framework", TOY)
    assert plain.stdout.splitlines() == decoded_lines(
        describe(decode(data, VOCABULARY), VOCABULARY)
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("replay", "gone.rondo"), "cannot read gone.rondo"),
        (("replay", "noise.rondo"), "not a reproducer"),
        (("replay", "noise.seq", "--framework", TOY), "its sequence cannot be read: damaged"),
        (("replay", "bug.rondo", "--framework", "nosuch:Thing"), "no framework 'nosuch:Thing'"),
        (("replay", "other.rondo", "--framework", TOY), "made with other subjects"),
        (("replay", "bug.rondo", "--preload", "gone.py"), "--preload gone.py is not a readable"),
        (("show", "gone.seq"), "cannot read gone.seq"),
        (("list", "steps", "--framework", "nosuch"), "no framework 'nosuch'; there is "),
        (("list", "everything"), "'everything' is not one of"),
        (("replay",), "Missing argument"),
        (("nonsense",), "No such command 'nonsense'"),
        (("replay", "--nonsense", "x"), "No such option"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(
    rondo: Run, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "noise.rondo").write_bytes(b"\x93noise")
    (tmp_path / "noise.seq").write_bytes(HARMLESS + b"\xff")
    written(tmp_path / "bug.rondo", STALE)
    other = describe(decode(HARMLESS, VOCABULARY), VOCABULARY)
    save(Reproducer("toy", STALE, other, IDENTITY, 0), tmp_path / "other.rondo")
    done = rondo(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_lists_hold_a_line_for_each_thing() -> None:
    assert [line.split()[0] for line in listed("architectures", VOCABULARY)] == ["chain"]
    constructs = [line.split()[0] for line in listed("constructs", VOCABULARY)]
    assert constructs == [construct.name for construct in VOCABULARY.constructs]
    steps = listed("steps", VOCABULARY)
    assert any(line.startswith("call dtype ") and "bfloat16" in line for line in steps)
    assert any(
        line.startswith("stale_scale.set_factor(0..2) ") and line.endswith("another value.")
        for line in steps
    )


def test_list_prints_them(rondo: Run) -> None:
    done = rondo("list", "constructs", "--framework", TOY)
    assert done.stdout.splitlines() == listed("constructs", VOCABULARY)


def test_coverage_of_a_campaign_becomes_pages(rondo: Run, tmp_path: Path) -> None:
    source = tmp_path / "compiler.py"
    source.write_text("a = 1\nb = 2\nif a > b:\n    c = 3\n")
    write_data(tmp_path / "campaign" / "coverage" / ".coverage", {str(source): [1, 2, 3]})
    done = rondo("coverage", "html", "campaign")
    assert done.returncode == 0, done.stderr
    assert "3 of 4 lines (75.0 %)" in done.stdout
    assert (tmp_path / "campaign" / "coverage" / "html" / "index.html").exists()
    assert rondo("coverage", "html", "campaign", "--out", "pages").returncode == 0
    assert (tmp_path / "pages" / "index.html").exists()


def test_coverage_without_data_is_one_clear_line(rondo: Run) -> None:
    done = rondo("coverage", "html", "nowhere")
    assert done.returncode == 2
    assert done.stderr == "error: nowhere is not a folder\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("replay", "f", "--framework", "foo"), "no framework 'foo'; there is "),
        (("export", "f", "--issue", "--pytest"), "--issue and --pytest exclude each other"),
        (("export", "f", "--out", "."), "cannot write .: it is a folder"),
        (("shrink", "f", "--out", "file/x"), "is no folder"),
        (("report", "campaign", "--out", "."), "cannot write .: it is a folder"),
        (("list",), "Missing argument"),
    ],
)
def test_what_cannot_end_well_is_not_begun(
    rondo: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "campaign" / "findings" / "record").mkdir(parents=True)
    (tmp_path / "file").touch()
    done = rondo(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_command_the_help_is_shown(rondo: Run) -> None:
    done = rondo()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: ")
