"""Which script is a proof, and which layout is taken: told by scripts of a few lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rondo.cli import main
from rondo.findings.export import ExportError, export, title_of
from rondo.findings.export_check import check_script, check_test, run_script
from rondo.frameworks.base import Script, ScriptRequest
from rondo.oracle.result import Alarm, Difference, Identity
from tests.toy_framework import ToyFramework

OFF = {"TOY_COMPILER_OFF": "1"}
AGREES = "^ok: same$"
PROOF = """
import os, sys
bug = "TOY_COMPILER_OFF" not in os.environ
print("BUG: stale" if bug else "ok: same")
sys.exit(bug)
"""
TEST = """
import os, pytest

@pytest.mark.xfail(strict=True, raises=AssertionError, reason="stale")
def test_stale():
    {body}
"""
IDENTITY = Identity("stateful", "value", "eager", "output", "a change")
ALARM = Alarm(1, IDENTITY, (Difference("output[0]", "value", "1", "2", "1"),))


def script(text: str, layout: str = "") -> Script:
    return Script(layout, text, OFF, AGREES)


def test_a_proof_shows_the_bug_and_nothing_without_the_compiler() -> None:
    assert check_script(script(PROOF), seconds=60) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("print('ok: same')", "exit code 0, ok: same"),
        ("raise SystemExit(1)", "exit code 1, nothing"),
        ("print('BUG: '); print('more'); raise SystemExit(1)", "exit code 1, nothing"),
        ("import rondo", "ModuleNotFoundError"),
        ("import rondo.findings", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import os; os.kill(os.getpid(), 9)", "exit code -9"),
        ("print('BUG: always'); raise SystemExit(1)", "with the compiler switched off"),
        (PROOF.replace("ok: same", "ok: other"), "with the compiler switched off"),
    ],
)
def test_what_is_no_proof_is_refused(text: str, reason: str) -> None:
    assert reason in check_script(script(text), seconds=60)


def test_a_script_that_hangs_is_ended() -> None:
    assert check_script(script("while True: pass"), seconds=1) == "it hung"


def test_what_a_script_that_hangs_has_started_is_ended_too(tmp_path: Path) -> None:
    """A layout forks: its child would go on for ever, and so would a compiler that it started."""
    note = tmp_path / "pid"
    hangs = f"""
import os, time
if (child := os.fork()):
    open({str(note)!r}, "w").write(str(child))
while True:
    time.sleep(1)
"""
    assert run_script(hangs, seconds=20).code is None
    pid = int(note.read_text())
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and _state(pid) != "Z":
        assert time.monotonic() < deadline, "the child outlives the script"
        time.sleep(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_any_bytes_may_be_printed_and_any_text_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONCOERCECLOCALE", "0")
    text = "import os; os.write(1, b'\\xff'); os.write(1, 'é'.encode())"
    assert run_script(text, seconds=60).printed == "\ufffdé"


def test_a_script_runs_in_an_empty_folder_of_its_own() -> None:
    ran = run_script("import os; print(os.listdir('.'), __name__)", seconds=60)
    assert ran.printed == "['test_script.py'] __main__\n"


def test_a_test_is_expected_to_fail_and_passes_without_the_compiler() -> None:
    off = '"TOY_COMPILER_OFF" in os.environ'
    assert check_test(script(TEST.format(body=f"assert {off}")), seconds=60) == ""
    assert "switched off" in check_test(script(TEST.format(body="assert False")), seconds=60)
    assert "1 failed" in check_test(script(TEST.format(body="raise OSError")), seconds=60)


class Writing(ToyFramework):
    """Offers the layouts that it is given, and counts those that were asked for."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = texts
        self.written = 0

    def scripts(self, request: ScriptRequest) -> Iterator[Script]:
        for number, text in enumerate(self.texts):
            self.written += 1
            yield script(text, f"layout {number}")


def request(alarm: Alarm = ALARM) -> ScriptRequest:
    sequence: Any = None
    return ScriptRequest(sequence, alarm)


def test_the_first_layout_that_is_a_proof_is_taken() -> None:
    framework = Writing("print('ok: same')", PROOF, "never asked for")
    exported = export(request(), framework)
    assert (exported.text, exported.layout, framework.written) == (PROOF, "layout 1", 2)
    assert exported.lines == PROOF.count("\n")


def test_without_a_proof_there_is_one_line_and_no_script() -> None:
    with pytest.raises(ExportError, match=r"^no script shows the bug; tried 1 layouts, last .*$"):
        export(request(), Writing("print('ok: same')", "print('ok: same')"))
    with pytest.raises(ExportError, match="no way to write"):
        export(request(), ToyFramework())
    with pytest.raises(ExportError, match="nothing of what differs"):
        export(request(Alarm(1, IDENTITY, ())), Writing(PROOF))


def test_a_title_says_what_goes_wrong_and_where() -> None:
    assert title_of(ALARM, "toy 1.0") == (
        "A later call gives a wrong value (output). toy 1.0, backend eager."
    )


@pytest.mark.parametrize("command", ["export", "locate"])
def test_bad_files_are_one_line_and_code_two(command: str, tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.rondo"
    nonsense.write_bytes(b"\x93nonsense")
    for path, said in ((nonsense, "nonsense.rondo"), (tmp_path / "none", "cannot read")):
        done = CliRunner().invoke(main, [command, str(path)])
        assert done.exit_code == 2
        assert said in done.output
        assert len(done.output.strip().splitlines()) == 1
    done = CliRunner().invoke(main, [command, str(nonsense), "--preload", "missing.py"])
    assert done.exit_code == 2
    assert "missing.py" in done.output
