"""Verifying a file: does its bug show every time? What `rondo verify` does, without a terminal.

The key insight: it fails closed. A run counts only when an alarm of the recorded identity came up;
an error, a death that is not the recorded one, a deadline and another bug each count against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.workbench import Workbench, framework_of, open_workbench
from rondo.findings.replay import read
from rondo.oracle.result import Identity, Result


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: whether it showed the bug, and what it showed in words."""

    shows: bool
    told: str


@dataclass(frozen=True, slots=True)
class Verification:
    """All runs, and the identity that was looked for ("" when a plain file showed none)."""

    expected: Identity | None
    outcomes: tuple[Outcome, ...]

    @property
    def shown(self) -> int:
        """How many runs showed the bug."""
        return sum(outcome.shows for outcome in self.outcomes)

    @property
    def verified(self) -> bool:
        """Whether every run did."""
        return bool(self.outcomes) and self.shown == len(self.outcomes)


def verify_file(
    file: Path,
    *,
    times: int,
    framework: str = "torch",
    preloads: tuple[str, ...] = (),
    subject: str = "",
    device: str = "",
    seconds: float = 120.0,
    report: Callable[[int, Outcome], None] = lambda number, outcome: None,
) -> Verification:
    """Run `file` in `times` fresh processes, one after the other. Raises RondoError.

    A plain sequence has no recorded identity: the first run's alarm is what the others must show.
    """
    replayable = read(file, framework=framework)
    expected = replayable.reproducer.identity if replayable.reproducer else None
    outcomes = []
    with open_workbench(
        framework_of(replayable, framework),
        preloads=preloads,
        subject=subject,
        device=replayable.device(device),
        seconds=seconds,
    ) as bench:
        bench.prepare(replayable)
        for number in range(times):
            outcome, expected = _run(bench, replayable.data, expected)
            outcomes.append(outcome)
            report(number, outcome)
    return Verification(expected, tuple(outcomes))


def _run(
    bench: Workbench, data: bytes, expected: Identity | None
) -> tuple[Outcome, Identity | None]:
    """Return what one run showed, and the identity to look for from now on."""
    try:
        result = bench.run(data)
    except ExecutionFaultError as fault:
        return Outcome(False, f"error: {str(fault).strip().splitlines()[-1]}"), expected
    if expected is None and result.alarms:
        expected = result.alarms[0].identity
    return judged(result, expected), expected


def judged(result: Result, expected: Identity | None) -> Outcome:
    """Return whether `result` shows exactly `expected`."""
    identities = [alarm.identity for alarm in result.alarms]
    if expected is not None and expected in identities:
        return Outcome(True, f"shows: {expected}")
    if identities:
        return Outcome(False, f"another bug: {identities[0]}")
    return Outcome(False, f"no bug ({result.verdict})")
