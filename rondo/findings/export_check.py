"""Running a script that was written for a finding: does it show the bug, and only the bug?

The key insight: a script that shows a difference proves nothing as long as it might show one for a
reason of its own. So it runs twice in fresh processes: as it is, where it must say BUG and leave
with 1, and with the compiler switched off, where it must say ok, leave with 0 and have seen the
very same thing in all its runs. In neither is Rondo importable.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rondo.frameworks.base import Script

SHOWS, CLEAN = "BUG: ", "ok: "
"""How the one line that a script prints begins."""

NAME = "test_script.py"

START = """
import sys
sys.modules["rondo"] = None
sys.argv = [{path!r}]
exec(compile(open({path!r}, "rb").read(), {path!r}, "exec"))
"""
"""What runs a script: as `python -I FILE` would, with an import of Rondo refused."""

START_TEST = """
import os, sys
sys.modules["rondo"] = None
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
sys.exit(pytest.main([{path!r}, "-q", "-p", "no:cacheprovider"]))
"""
"""What runs a test, likewise, and without plugins: one may be Rondo's."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a script: exit code (negative: a signal, None: it hung) and what it printed."""

    code: int | None
    printed: str
    complained: str = ""

    @property
    def verdict(self) -> str:
        """The line that the script printed; empty unless it is just one."""
        lines = self.printed.strip().splitlines()
        return lines[0] if len(lines) == 1 else ""

    @property
    def shows(self) -> bool:
        """Whether the script says that the bug shows."""
        return self.code == 1 and self.verdict.startswith(SHOWS)

    @property
    def clean(self) -> bool:
        """Whether the script says that no bug shows."""
        return self.code == 0 and self.verdict.startswith(CLEAN)

    def describe(self) -> str:
        """Return what came of it, on one line."""
        if self.code is None:
            return "it hung"
        said = self.verdict or (self.complained.strip().splitlines() or ["nothing"])[-1]
        return f"exit code {self.code}, {said[:200]}"


def run_script(
    text: str,
    *,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    start: str = START,
) -> Ran:
    """Run `text` in a fresh process, in an empty folder, without Rondo.

    The process is the first of a group, and the whole group is ended with it: what a script that
    hangs has forked or started would go on for ever.
    """
    with tempfile.TemporaryDirectory(prefix="rondo-script-") as folder:
        path = Path(folder) / NAME
        path.write_text(text, encoding="utf-8")
        given = {
            name: value.replace("{folder}", folder) for name, value in (environment or {}).items()
        }
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", start.format(path=str(path))],
            cwd=folder,
            env={**os.environ, **given},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        with process:
            try:
                printed, complained = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                return Ran(None, "")
            finally:
                if process.returncode is None:  # not waited for: the number is still its own
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
    return Ran(process.returncode, printed, complained)


def check_script(script: Script, *, seconds: float) -> str:
    """Return why `script` is no proof of the bug; empty when it is one."""
    ran, control = _twice(script, seconds, START, lambda ran: ran.shows)
    if control is None:
        return ran.describe()
    if control.clean and re.search(script.agrees, control.verdict):
        return ""
    return f"with the compiler switched off: {control.describe()}"


def check_test(script: Script, *, seconds: float) -> str:
    """Return why a test is no proof of the bug; empty when it is one.

    It must fail as it is expected to, and pass - which a strict expectation reports as a failure -
    with the compiler switched off.
    """

    def fails(ran: Ran) -> bool:
        return ran.code == 0 and "1 xfailed" in ran.printed

    ran, control = _twice(script, seconds, START_TEST, fails)
    if control is None:
        return f"as a test: exit code {ran.code}, {_last_line(ran.printed)}"
    if control.code == 1 and "[XPASS(strict)]" in control.printed:
        return ""
    return f"as a test, the compiler switched off: {_last_line(control.printed)}"


def _twice(
    script: Script, seconds: float, start: str, shows: Callable[[Ran], bool]
) -> tuple[Ran, Ran | None]:
    """Run a script, and where it shows the bug once more with the compiler switched off."""
    ran = run_script(script.text, seconds=seconds, environment=script.environment, start=start)
    if not shows(ran):
        return ran, None
    off = {**script.environment, **script.compiler_off}
    return ran, run_script(script.text, seconds=seconds, environment=off, start=start)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing printed"])[-1][:200]
