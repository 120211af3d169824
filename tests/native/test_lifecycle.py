"""Starting, stopping, stepping aside, forking, dying: what surrounds the tracing itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rondo
from rondo._native import EXTENSIONS, TracerBusyError
from rondo._native.choose import Choice, choose_tracer
from rondo._native.lines import LineStore
from rondo._native.tracer import MECHANISM, MONITORING, LineTracer, NullTracer, other_tracer
from tests.native.programs import load

MakeTracer = Callable[..., LineTracer]
TEXT = "def main():\n    x = 1\n    return x\n"
settrace_only = pytest.mark.skipif(MONITORING, reason="concerns PyEval_SetTrace, so Python 3.11")
# Absent before 3.12, which type checkers are told to assume.
MONITOR: Any = getattr(sys, "monitoring", None)
PACKAGE = Path(rondo.__file__).parent


def python(code: str, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a fresh interpreter that finds this very package."""
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *arguments, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **options},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_start_and_stop_may_be_repeated(tmp_path: Path, tracer_for: MakeTracer) -> None:
    main = load(tmp_path / "program.py", TEXT)
    tracer = tracer_for(tmp_path)
    tracer.start()
    assert tracer.active
    main()
    tracer.stop()
    tracer.stop()
    assert not tracer.active
    assert tracer.line_count == 2
    load(tmp_path / "other.py", TEXT)()
    assert tracer.line_count == 2
    tracer.start()
    load(tmp_path / "third.py", TEXT)()
    assert tracer.line_count == 5, "its def line ran under the tracer"
    tracer.begin_run(complete=True)
    main()
    assert tracer.run_lines() == {str(tmp_path / "program.py"): [2, 3]}


def test_nothing_is_left_behind_after_stop(tmp_path: Path, tracer_for: MakeTracer) -> None:
    tracer = tracer_for(tmp_path)
    tracer.stop()
    assert sys.gettrace() is None
    assert threading.gettrace() is None
    assert other_tracer() is None
    if MONITORING:
        assert [MONITOR.get_tool(i) for i in range(6)] == [None] * 6


def test_one_tracer_at_a_time(tmp_path: Path, tracer_for: MakeTracer) -> None:
    tracer_for(tmp_path)
    with pytest.raises(TracerBusyError, match="another LineTracer is active"):
        LineTracer([tmp_path]).start()


def test_trees_are_several_paths_not_one() -> None:
    with pytest.raises(TypeError, match="not one path"):
        LineTracer("/somewhere")


# ---------------------------------------------------------------------------- stepping aside


def refused(tmp_path: Path) -> str:
    """Asks both ways to get a tracer; returns the reason, which must be the same."""
    with pytest.raises(TracerBusyError) as error:
        LineTracer([tmp_path]).start()
    choice = choose_tracer([tmp_path])
    assert choice.tracer is None
    assert choice.capabilities.mechanism == "none"
    assert choice.refusals[-1].reason in str(error.value)
    assert choice.describe().startswith("lines are not traced (")
    return choice.refusals[-1].reason


def test_a_debugger_keeps_its_trace_function(tmp_path: Path) -> None:
    def debugger(frame: object, event: str, arg: object) -> None:
        return None

    old = sys.gettrace()
    sys.settrace(debugger)
    try:
        reason = refused(tmp_path)
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(old)
    assert "a trace function is set (builtins.function)" in reason


def test_a_threading_hook_is_respected(tmp_path: Path) -> None:
    threading.settrace(print)
    try:
        assert refused(tmp_path) == "threading.settrace holds print"
    finally:
        threading.settrace(None)


@pytest.mark.skipif(not MONITORING, reason="sys.monitoring came with Python 3.12")
def test_a_tool_of_sys_monitoring_is_respected(tmp_path: Path) -> None:
    MONITOR.use_tool_id(MONITOR.DEBUGGER_ID, "pdb")
    try:
        assert refused(tmp_path) == "sys.monitoring has a debugger: pdb"
    finally:
        MONITOR.free_tool_id(MONITOR.DEBUGGER_ID)
    MONITOR.use_tool_id(3, "one")
    MONITOR.use_tool_id(4, "two")
    try:
        tracer = LineTracer([tmp_path])
        with pytest.raises(TracerBusyError, match="3 and 4 are taken"):
            tracer.start()
        assert not tracer.active
    finally:
        MONITOR.free_tool_id(3)
        MONITOR.free_tool_id(4)


def test_under_coverage_the_tracer_steps_aside(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from rondo._native.choose import choose_tracer\n"
        f"print(choose_tracer([{str(tmp_path)!r}]).describe())\n"
    )
    code = (
        "import sys; from coverage.cmdline import main; "
        f"sys.exit(main(['run', '--data-file={tmp_path / 'data'}', {str(script)!r}]))"
    )
    result = python(code)
    assert result.returncode == 0, result.stderr
    assert "lines are not traced" in result.stdout
    assert "coverage" in result.stdout.lower() or "trace function" in result.stdout


def test_choice_names_every_refusal(tmp_path: Path, tracer_for: MakeTracer) -> None:
    choice = choose_tracer([tmp_path])
    assert isinstance(choice, Choice)
    assert isinstance(choice.tracer, LineTracer)
    assert choice.capabilities.mechanism == MECHANISM
    assert choice.capabilities.complete_runs
    assert choice.capabilities.free_when_seen is MONITORING
    assert len(choice.refusals) == 1
    assert MECHANISM in choice.describe()
    assert choose_tracer([]).refusals[-1].reason == "no source tree to trace"
    unwanted = choose_tracer([tmp_path], wanted=False)
    assert unwanted.refusals[-1].reason == "lines were not asked for"
    assert str(unwanted.refusals[-1]) == f"{MECHANISM}: lines were not asked for"


# --------------------------------------------------------------------- others' trace functions


@settrace_only
def test_a_trace_function_put_back_by_a_library_is_ours_again(
    tmp_path: Path, tracer_for: MakeTracer
) -> None:
    main = load(tmp_path / "program.py", TEXT)
    tracer = tracer_for(tmp_path)
    old = sys.gettrace()
    assert old is tracer
    sys.settrace(None)
    sys.settrace(old)
    main()
    assert tracer.line_count == 2


@settrace_only
def test_a_trace_function_taken_out_comes_back_with_the_next_run(
    tmp_path: Path, tracer_for: MakeTracer
) -> None:
    main = load(tmp_path / "program.py", TEXT)
    tracer = tracer_for(tmp_path)
    sys.settrace(None)
    main()
    assert tracer.line_count == 0
    tracer.begin_run()
    main()
    assert tracer.line_count == 2


@settrace_only
def test_a_debugger_that_comes_later_is_left_alone(tmp_path: Path, tracer_for: MakeTracer) -> None:
    def debugger(frame: object, event: str, arg: object) -> None:
        return None

    tracer = tracer_for(tmp_path)
    sys.settrace(debugger)
    tracer.begin_run()
    assert sys.gettrace() is debugger
    assert tracer.counts()["displaced_threads"] == 1
    tracer.stop()
    assert sys.gettrace() is debugger
    sys.settrace(None)
    sys.settrace(tracer)
    len([i for i in range(2)])
    assert sys.gettrace() is None, "a stopped tracer takes itself out"


def test_the_null_tracer_starts_and_stops() -> None:
    null = NullTracer()
    null.start()
    null.stop()
    assert sys.gettrace() is None


# -------------------------------------------------------------------------- processes and death


def test_a_forked_child_sends_its_lines_to_its_parent(
    tmp_path: Path, tracer_for: MakeTracer
) -> None:
    first, second = load(tmp_path / "a.py", TEXT), load(tmp_path / "b.py", TEXT)
    tracer = tracer_for(tmp_path)
    first()
    tracer.export_new()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        status = 1
        try:
            tracer.start()
            tracer.begin_run()
            first()
            second()
            os.write(writer, tracer.export_new())
            tracer.stop()
            tracer.start()
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        exported = stream.read()
    assert os.waitpid(child, 0)[1] == 0
    only_childs = LineStore([tmp_path])
    only_childs.import_lines(exported)
    assert only_childs.lines() == {str(tmp_path / "b.py"): [2, 3]}
    tracer.begin_run()
    assert tracer.import_lines(exported) == 2
    assert tracer.end_run() == [(str(tmp_path / "b.py"), 2), (str(tmp_path / "b.py"), 3)]
    second()
    assert tracer.counts()["run"] == 2


def test_a_tracer_left_active_does_not_disturb_the_end_of_the_process(tmp_path: Path) -> None:
    load(tmp_path / "program.py", TEXT)
    code = f"""
import atexit, sys, threading
sys.path.insert(0, {str(tmp_path)!r})
from rondo._native.tracer import LineTracer
tracer = LineTracer([{str(tmp_path)!r}])
tracer.start()
import program
class AtTheVeryEnd:
    def __del__(self): program.main()
keep = AtTheVeryEnd()
threading.Thread(target=program.main, daemon=True).start()
program.main()
print(tracer.line_count)
"""
    result = python(code, "-X", "faulthandler")
    assert (result.returncode, result.stdout, result.stderr) == (0, "3\n", "")


def test_without_the_extension_the_error_says_how_to_build_it(tmp_path: Path) -> None:
    target = tmp_path / "rondo" / "_native"
    target.mkdir(parents=True)
    (tmp_path / "rondo" / "__init__.py").touch()
    for source in (PACKAGE / "_native").glob("*.py"):
        shutil.copy(source, target)
    code = f"""
import rondo._native
for name in {EXTENSIONS}:
    try:
        __import__("rondo._native." + name)
    except rondo._native.NativeMissingError as error:
        assert isinstance(error, ImportError)
        assert error.name == "rondo._native." + name
        print(error)
try:
    import rondo._native.nothing
except ModuleNotFoundError as error:
    print(type(error).__name__)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == len(EXTENSIONS) + 1
    assert all("Build it with 'pip install .'" in line for line in lines[:-1])
    assert lines[-1] == "ModuleNotFoundError"
