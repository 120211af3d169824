"""What of -max_total_time goes to seeds, and what comes after its end.

libFuzzer runs all seeds before it looks at the clock, and up to five mutations between two looks:
nothing for a parser, but a sequence is a dozen compilations, and under Inductor the shipped seeds
alone take longer than a smoke run of two minutes. So a target looks for itself. Seeds may take half
of the time; libFuzzer gives the smallest first, which on the whole are the cheapest. The others are
not lost: they come back among the proposals. Once the time is over nothing is executed.

Without -max_total_time, and where inputs are sorted rather than searched (-merge, -minimize_crash),
every input is run.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable

SEED_SHARE = 0.5
"""Seeds are the best inputs that are known, and proposals are what the time was given for."""

ALWAYS = 2
"""Inputs that run however late it is: libFuzzer's own empty one and the first seed. It cannot begin
without an input that shows something."""

DEFERRED_EVERY = 4
"""One in so many proposals is a seed that was put off, as long as there are any."""

SORTING = ("-merge", "-minimize_crash", "-cleanse_crash")
"""Beginnings of the flags with which libFuzzer judges each input by what it shows."""


class Budget:
    """Decides for each input whether there is time to run it."""

    def __init__(
        self, seconds: int, seeds: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`seconds` is -max_total_time, 0 for no bound; `seeds` the number of files given."""
        self.deferred: deque[bytes] = deque()
        self._seconds = seconds
        self._seeding = seeds + 1  # libFuzzer begins with an empty input
        self._clock = clock
        self._began = 0.0
        self._inputs = self._proposals = 0

    def admits(self, data: bytes) -> bool:
        """Return whether to run `data` now."""
        self._inputs += 1
        if self._inputs == 1:
            self._began = self._clock()
        if not self._seconds or self._inputs <= ALWAYS:
            return True
        spent = self._clock() - self._began
        if self._inputs <= self._seeding and spent >= self._seconds * SEED_SHARE:
            self.deferred.append(data)
            return False
        return spent < self._seconds

    def proposal(self, max_size: int) -> bytes | None:
        """Return a seed that was put off if it is time for one. The seeds have been given."""
        self._seeding = 0
        self._proposals += 1
        if not self.deferred or self._proposals % DEFERRED_EVERY:
            return None
        seed = self.deferred.popleft()
        return seed if len(seed) <= max_size else None


def count_seeds(arguments: Iterable[str]) -> int:
    """Return how many files libFuzzer will read from the folders among its arguments."""
    given = [argument for argument in arguments if not argument.startswith("-")]
    return sum(
        os.path.getsize(os.path.join(folder, name)) > 0
        for path in given
        for folder, _, names in os.walk(path)
        for name in names
    )


def budget_for(arguments: Iterable[str], seconds: int) -> Budget:
    """Return the budget of a target that was given `arguments` and `seconds` in all."""
    given = list(arguments)[1:]
    sorting = any(argument.startswith(SORTING) for argument in given)
    return Budget(0 if sorting else seconds, count_seeds(given))
