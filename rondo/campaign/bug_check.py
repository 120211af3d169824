"""Checking the gallery: does every bug show what was recorded of it, here and now?

The key insight: the entries of one framework share a server, which imports the framework once, and
none of them a process: each runs in a fork that has run nothing before, as in a campaign.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rondo.campaign.deaths import DIED
from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.workbench import Workbench, open_workbench
from rondo.findings import replay
from rondo.findings.bucket import bucket_of_finding, find_alarm
from rondo.findings.bugs import AGREE, Bug, Outcome
from rondo.findings.export_check import run_script
from rondo.frameworks.registry import is_installed
from rondo.oracle.result import Result

UNKNOWN = "unclear"
"""What is said where nothing can be: a script that says neither BUG nor ok, another bug."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One entry: what was recorded (and on which version), what showed, and what that means."""

    bug: Bug
    version: str
    recorded: str
    recorded_on: str
    now: str
    outcome: Outcome
    note: str = ""


def installed_version(framework: str) -> str:
    """Return the version of the package that `framework` is; "" when nothing says one."""
    distributions = importlib.metadata.packages_distributions().get(framework, [])
    return importlib.metadata.version(distributions[0]) if distributions else ""


def check_bugs(
    bugs: list[Bug], *, adapter: str = "", scripts: bool = False, seconds: float
) -> Iterator[Checked]:
    """Yield what became of each entry, framework by framework. Raises RondoError.

    `adapter` (module:Class) is loaded for all of them; with `scripts` the script of an entry that
    has a sequence must say the same as its sequence. All sequences are read before any is run.
    """
    sequences = {
        bug.folder: replay.read(bug.folder / bug.sequence, framework=bug.framework)
        for bug in bugs
        if bug.sequence
    }
    for framework, entries in groupby(sorted(bugs, key=_place), key=lambda bug: bug.framework):
        if not adapter and not is_installed(framework):
            yield from map(_skipped, entries)
            continue
        version = installed_version(framework)
        with ExitStack() as stack:
            bench: Workbench | None = None
            for bug in entries:
                if not bug.sequence:
                    yield _checked(bug, version, *script_verdict(bug, seconds))
                    continue
                if bench is None:
                    opened = open_workbench(adapter or framework, seconds=seconds)
                    bench = stack.enter_context(opened)
                now, note = replayed_verdict(bug, sequences[bug.folder], bench)
                if scripts and (said := script_verdict(bug, seconds))[0] != now:
                    now, note = UNKNOWN, f"{now}, but its script: {' '.join(said).strip()}"
                yield _checked(bug, version, now, note)


def _place(bug: Bug) -> tuple[str, Path]:
    return bug.framework, bug.folder


def _skipped(bug: Bug) -> Checked:
    expected = bug.expected("")
    note = f"{bug.framework} is not installed"
    return Checked(bug, "", expected.verdict, expected.version, "", Outcome.SKIPPED, note)


def _checked(bug: Bug, version: str, now: str, note: str) -> Checked:
    expected = bug.expected(version)
    outcome = expected.judge(now)
    if not expected.exact:
        note = f"{version} is not recorded; {note}" if note else f"{version} is not recorded"
    return Checked(bug, version, expected.verdict, expected.version, now, outcome, note)


def replayed_verdict(bug: Bug, replayable: replay.Replayable, bench: Workbench) -> tuple[str, str]:
    """Return the verdict that the sequence of `bug` shows, and a note. Raises ReproducerError."""
    bench.prepare(replayable)
    if replayable.reproducer is not None and bug.bucket:
        bucket = bucket_of_finding(replayable.reproducer)
        if bucket.name != bug.bucket:
            return UNKNOWN, f"its sequence is of another bucket: {bucket.name}"
    try:
        result = bench.run(replayable.data)
    except ExecutionFaultError as fault:
        return UNKNOWN, str(fault).strip().splitlines()[-1][:120]
    return _verdict(replayable, result)


def _verdict(replayable: replay.Replayable, result: Result) -> tuple[str, str]:
    recorded = replayable.reproducer
    if recorded is None:
        return result.verdict, ""
    if find_alarm(result, recorded.identity, strict=False) is not None:
        return (DIED if recorded.death else recorded.identity.verdict), ""
    if result.alarms:
        return UNKNOWN, f"another bug: {result.alarms[0].identity}"
    return result.verdict, ""


def script_verdict(bug: Bug, seconds: float) -> tuple[str, str]:
    """Return the verdict that the script of `bug` shows in a fresh process, and a note.

    A script knows no verdicts: where it says BUG, it shows the one that the bug has.
    """
    text = (bug.folder / bug.script).read_text()
    ran = run_script(text, seconds=seconds, environment={"TORCHINDUCTOR_CACHE_DIR": "{folder}/c"})
    if ran.shows:
        return bug.verdict, ""
    if ran.clean:
        return AGREE, ""
    died = ran.code is None or ran.code < 0
    return (DIED if died else UNKNOWN), ran.describe()[:120]
