"""Asking a process of its own to check a model, and waiting for its answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

from rondo.errors import RondoError, WorkerError
from rondo.testing.handover import Handover
from rondo.testing.outcome import NothingCompiledError, Outcome, UndecidedWarning

STARTING_SECONDS = 900.0
"""What importing a framework, and confirming, shortening and exporting what was found, may take on
top of the time for new sequences: minutes on a machine that does ten other things."""

SIZES = ("executions", "seconds", "seed")


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a check goes."""

    executions: int
    seconds: float
    seed: int

    def __post_init__(self) -> None:
        if self.executions < 1 or self.seconds <= 0 or self.seed < 1:
            values = ", ".join(f"{name}={getattr(self, name)}" for name in SIZES)
            raise ValueError(f"all of these must be positive: {values}")


def findings_folder() -> Path:
    """Return a new folder for what a check finds. It stays: a failure names files in it."""
    root = os.environ.get("RONDO_FINDINGS")
    if root:
        Path(root).mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="rondo-findings-", dir=root or None))


def check(handover: Handover, limits: Limits) -> Outcome:
    """Check a model in a process of its own. Raises RondoError, also if nothing was compiled."""
    folder = findings_folder()
    with tempfile.TemporaryDirectory(prefix="rondo-check-") as private:
        place = Path(private)
        command = [sys.executable, "-m", "rondo.testing.runner", handover.write(place)]
        command += [str(limits.executions), str(limits.seconds), str(limits.seed)]
        command += [str(folder), str(place / "outcome")]
        said = _run(command, place, limits.seconds + STARTING_SECONDS)
        if not (place / "outcome").exists():
            raise WorkerError(f"the check did not come to an end: {said}")
        outcome = Outcome.load(place / "outcome")
    if not outcome.findings:
        if outcome.undecided:
            from rondo.campaign.artifacts import UNCONFIRMED

            warnings.warn(
                f"not all alarms were looked into within {limits.seconds:g} s:"
                f" {outcome.undecided} of the sequences are left in {folder / UNCONFIRMED}",
                UndecidedWarning,
                stacklevel=3,
            )
        else:
            _remove(folder)
        if not outcome.compiled:
            raise NothingCompiledError(outcome)
    return outcome


def _run(command: list[str], place: Path, seconds: float) -> str:
    """Run `command` with this process's import path; return the last line that it said.

    The import path holds `place`, where the handed-over module lies, and the current folder, since
    that is where pytest was started and user modules are found.
    """
    paths = [str(place), *(path or os.getcwd() for path in sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    environment.pop("COVERAGE_PROCESS_START", None)  # a tracer in there would be compiled too
    with open(place / "log", "wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
    words = (place / "log").read_text(errors="replace").strip().splitlines() or [""]
    if code == RondoError.exit_code and words[-1].startswith("error: "):
        raise RondoError(words[-1].removeprefix("error: "))
    return f"exit code {code}; {words[-1]}"


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
