"""Replaying a file under other interpreters: what `rondo bisect` does, without a terminal.

The key insight: another environment is asked by its own `rondo replay --json`, so nothing here
depends on which framework, or which version of one, it holds. Where Rondo is not installed it is
lent: a folder that holds a link to this package and nothing else goes first on the path, so that
none of this environment's own packages leak into the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rondo

PROBE_SECONDS = 300.0
START_SECONDS = 300.0
"""Allowed on top of a replay's own limit: importing a framework from a cold disk takes long."""
OLDEST = (3, 11)

PROBE = """
import importlib, importlib.metadata, importlib.util, json, sys
framework = sys.argv[1]
told = {"python": "%d.%d.%d" % sys.version_info[:3], "rondo": False, "lacks": "", "version": ""}
try:
    told["rondo"] = importlib.util.find_spec("rondo") is not None
    names = importlib.metadata.packages_distributions().get(framework, [framework])
    told["version"] = importlib.metadata.version(names[0])
except Exception:
    pass
if told["rondo"]:
    try:
        for module in ("campaign.worker", "campaign.replay_table", "commands.replay"):
            importlib.import_module(f"rondo.{module}")
    except ImportError as error:
        told["lacks"] = error.name or str(error)
print(json.dumps(told))
"""
"""Runs in the other interpreter, before it is known that Rondo can."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one interpreter says. `shows` is None when it could not tell, for the reason `told`."""

    interpreter: str
    shows: bool | None
    told: str
    python: str = ""
    framework: str = ""


class NoAnswerError(Exception):
    """An interpreter could not be asked. Not an error of ours: the sentence goes into the table."""


def ask_all(
    file: Path,
    interpreters: tuple[str, ...],
    framework: str,
    options: tuple[str, ...],
    *,
    seconds: float,
) -> Iterator[Answer]:
    """Yield each interpreter's answer. `options` are those of `rondo replay` to pass on."""
    with _lent_package() as lent:
        for interpreter in interpreters:
            yield _ask(file, interpreter, framework, options, lent, seconds)


def _ask(
    file: Path,
    interpreter: str,
    framework: str,
    options: tuple[str, ...],
    lent: Path,
    seconds: float,
) -> Answer:
    python = version = ""
    try:
        probed = _probe(interpreter, framework.partition(":")[0], ())
        own = bool(probed["rondo"])
        python, version = str(probed["python"]), str(probed["version"])
        if tuple(map(int, python.split(".")))[:2] < OLDEST:
            raise NoAnswerError(f"Rondo needs Python {'.'.join(map(str, OLDEST))} or newer")
        if not own:
            probed = _probe(interpreter, framework, (str(lent),))
        if probed["lacks"]:
            raise NoAnswerError(_mend(str(probed["lacks"]), interpreter, python))
        if not version and ":" not in framework:
            raise NoAnswerError(f"{framework} is not installed there")
        paths = (
            *(() if own else (str(lent),)),
            *((os.getcwd(),) if "--subject" in options else ()),
        )
        shows, told = _replay(file, interpreter, options, paths, seconds)
    except NoAnswerError as error:
        return Answer(interpreter, None, str(error), python, version)
    return Answer(interpreter, shows, told, python, version)


def _probe(interpreter: str, framework: str, paths: tuple[str, ...]) -> dict[str, Any]:
    done = _run([interpreter, "-c", PROBE, framework], paths, PROBE_SECONDS)
    try:
        probed = json.loads(done.stdout.strip().rpartition("\n")[2])
        return {name: probed[name] for name in ("python", "rondo", "lacks", "version")}
    except (ValueError, TypeError, KeyError):
        said = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise NoAnswerError(f"is no Python 3 that runs: {said}") from None


def _mend(lacks: str, interpreter: str, python: str) -> str:
    """Return the line that says how to give an interpreter what it lacks."""
    if lacks.startswith("rondo._native"):
        checkout = Path(rondo.__file__).resolve().parents[1]
        build = f"{interpreter} setup.py build_ext --inplace"
        if (checkout / "setup.py").is_file():
            build = f"cd {checkout} && {build}"
        short = ".".join(python.split(".")[:2])
        return f"no native extension for Python {short}; build it: {build} (needs cython)"
    return f"{lacks} is not installed there: {interpreter} -m pip install {lacks.partition('.')[0]}"


def _replay(
    file: Path,
    interpreter: str,
    options: tuple[str, ...],
    paths: tuple[str, ...],
    seconds: float,
) -> tuple[bool, str]:
    """Return whether the bug shows, and the verdict in words. Raises NoAnswerError."""
    command = [interpreter, "-m", "rondo", "replay", str(file.resolve()), "--json", *options]
    done = _run([*command, "--timeout", str(seconds)], paths, seconds + START_SECONDS)
    try:
        answer = json.loads(done.stdout.strip().rpartition("\n")[2])
        shows, verdict, alarms = answer["shows"], str(answer["verdict"]), answer["alarms"]
        others = [each["identity"] for each in alarms]
    except (ValueError, TypeError, KeyError, IndexError):
        said = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise NoAnswerError(said.removeprefix("error: ")) from None
    if shows:
        return True, ""
    if others:
        one = others[0]
        return False, f"another bug: {one['verdict']}: {one['effect']} in {one['place']}"
    return False, f"no bug ({verdict})"


def _run(
    command: list[str], paths: tuple[str, ...], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run `command` with `paths` first on its path, and no file of this folder by accident."""
    environment = dict(os.environ)
    if paths:
        given = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([*paths, *([given] if given else [])])
    try:
        with tempfile.TemporaryDirectory(prefix="rondo-") as nowhere:
            return subprocess.run(
                command,
                cwd=nowhere,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
            )
    except OSError as error:
        raise NoAnswerError(f"cannot be run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise NoAnswerError(f"no answer within {seconds:.0f} s") from None


@contextmanager
def _lent_package() -> Iterator[Path]:
    """Yield a folder with a link to this package in it, and nothing else."""
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        os.symlink(Path(rondo.__file__).resolve().parent, Path(folder) / "rondo")
        yield Path(folder)
