"""Which of several ways pays: discoveries per unit of work, and shares that follow them.

The key insight: what a way of searching yields falls as it is used, so neither a lifetime average
nor the last result says much. The record of each way fades with the work that is put into it, and
everybody keeps a fixed share, so that one that has become worthwhile again is noticed. What one use
takes is another matter: it stays what it is, but for the rare hang, which must not be taken for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Way = TypeVar("Way", bound=Hashable)

FLOOR = 0.3
"""Share that is spread evenly over all ways, whatever they yield."""

MEMORY = 40.0
"""A record forgets most of what is older than this many executions' worth of work, or uses."""

HOPE_USES, HOPE_FOUND = 2.0, 10.0
"""Every way starts as if two usual executions had found ten things, as random ones do early on."""

OUTLIER = 32.0
"""One use counts as at most so many times the work of the average one: a hang takes hundreds, a
large architecture tens."""


class Yields(Generic[Way]):
    """Discoveries and work of each way, fading, and what one use of it takes."""

    def __init__(self, ways: Iterable[Way]) -> None:
        self._records = {way: [HOPE_FOUND, HOPE_USES] for way in ways}
        self._costs = {way: [1.0, HOPE_USES] for way in self._records}

    def note(self, way: Way, found: float, work: float) -> None:
        """Note that `way` found so much with so much work, in units of a usual execution."""
        keep = MEMORY / (MEMORY + work)
        old = self._records[way]
        self._records[way] = [keep * a + b for a, b in zip(old, (found, work), strict=True)]
        cost, uses = self._costs[way]
        uses = min(uses + 1, MEMORY)
        self._costs[way] = [cost + (min(work, OUTLIER * cost) - cost) / uses, uses]

    def rate(self, way: Way) -> float:
        """Return what `way` finds per unit of work, by its faded record."""
        found, work = self._records[way]
        return found / work

    @property
    def frequencies(self) -> Mapping[Way, float]:
        """How often each way should be used to get its share of the work; they sum to one."""
        often = {way: share / self._costs[way][0] for way, share in self.shares.items()}
        total = sum(often.values())
        return {way: each / total for way, each in often.items()}

    @property
    def shares(self) -> Mapping[Way, float]:
        """The share of the *work* that each way should get; they sum to one."""
        rates = {way: self.rate(way) for way in self._records}
        total, count = sum(rates.values()), len(rates)
        return {
            way: FLOOR / count + (1 - FLOOR) * (rate / total if total else 1 / count)
            for way, rate in rates.items()
        }
