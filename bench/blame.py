"""Which of many seeded faults is a finding of? Halving, in fresh processes.

A campaign under all faults at once costs one campaign, where `recall_faults.py` needs one for each.
What it finds is then laid to the one fault under which alone it shows, and without which it does
not; what shows without any is a live bug, and what needs two faults counts for none.
"""

from __future__ import annotations

from seeded import Fault, Workers

from rondo.findings.bucket import find_alarm
from rondo.findings.reproducer import Reproducer


class Judge:
    """Lays findings to faults, and remembers which bucket was which fault's."""

    def __init__(self, faults: list[Fault], workers: Workers) -> None:
        self._faults = faults
        self._workers = workers
        self._guesses: dict[str, Fault] = {}

    def fault_of(self, found: Reproducer, bucket: str) -> str | None:
        """Return the name of the fault that is to blame, None when it is none of them alone."""
        if self._shows(found):
            return None
        guess = self._guesses.get(bucket)
        if guess is None or not self._shows(found, guess):
            guess = self._halve(found, self._faults)
        if guess is None:
            return None
        self._guesses[bucket] = guess
        return guess.name

    def _halve(self, found: Reproducer, faults: list[Fault]) -> Fault | None:
        if not faults or not self._shows(found, *faults):
            return None
        if len(faults) == 1:
            return faults[0]
        middle = len(faults) // 2
        # Both halves: a fault that masks another one may stand in the first.
        return self._halve(found, faults[:middle]) or self._halve(found, faults[middle:])

    def _shows(self, found: Reproducer, *faults: Fault) -> bool:
        self._workers.choose(*faults)
        result = self._workers.executor.run_fresh(found.data)
        return find_alarm(result, found.identity, strict=False) is not None
