"""What running a sequence is worth before it runs: discoveries per unit of work, by back end.

The key insight: behaviours are told apart by back end, so what is known on one says little of what
is still to be found on another; each has records of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rondo.search.features import features_of
from rondo.search.promise import Effort, Promise
from rondo.sequences.step import Sequence

ALARM_WORTH = 5.0
"""A new alarm counts as so many new behaviours: it is what the behaviours are for."""

LINE_WORTH = 0.05
"""A compiler line reached for the first time counts as so much of a behaviour. One behaviour that
is new comes with some twenty new lines early in a campaign, so lines speak up where behaviours are
silent and never drown them."""

LEAST_PROMISE = 0.1
"""Added to every promise: something may always be new, and where nothing is any more, promises
become equal instead of deciding by their last digits."""


class Forecast:
    """Promise and effort on each back end."""

    def __init__(self, backends: Iterable[int]) -> None:
        self._promises = {backend: Promise() for backend in backends}
        self._efforts: dict[int, Effort] = {}
        below: Effort | None = None
        for backend in sorted(self._promises):
            self._efforts[backend] = below = Effort(below)

    def log_value(self, sequence: Sequence) -> float:
        """Return the logarithm of the discoveries per unit of work that `sequence` promises."""
        expected = self._promises[sequence.options.backend].expect(features_of(sequence))
        return math.log(expected + LEAST_PROMISE) - math.log(self.work(sequence))

    def work(self, sequence: Sequence) -> float:
        """Return the work that `sequence` is expected to take."""
        return self._efforts[sequence.options.backend].expect(sequence)

    def best(self, drawn: Iterable[Sequence]) -> Sequence:
        """Return the one of `drawn` that promises most, the first of equals."""
        return max(drawn, key=self.log_value)

    def learn(self, sequence: Sequence, found: float, work: float) -> None:
        """Note what an execution of `sequence` found, and with how much work."""
        backend = sequence.options.backend
        if backend in self._promises:
            self._promises[backend].learn(features_of(sequence), found)
            self._efforts[backend].learn(sequence, work)

    def reward_lines(self, sequence: Sequence, count: int) -> None:
        """Note that the last execution, of `sequence`, reached `count` new lines as well."""
        promise = self._promises.get(sequence.options.backend)
        if promise is not None:
            promise.reward(features_of(sequence), LINE_WORTH * count)
