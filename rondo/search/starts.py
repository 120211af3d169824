"""Where chains begin: blind and chosen draws, corpus entries, and crossings of two entries.

The key insight: a start claims nothing about any target, so here everything may be greedy. Of
several draws the one that promises most is run, and which way of starting is used how often
follows what each has yielded for its work. One way is to look at no promise, only at what a draw
will take: a forecast of discoveries that learns only from what it chose never hears that it was
wrong, and where it *is* wrong this way wins, so that guidance costs little where it cannot help.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from rondo.search.corpus import Entry
from rondo.search.forecast import Forecast
from rondo.search.sampler import SearchState, on_backend
from rondo.search.yields import Yields
from rondo.sequences.step import Sequence, normalise

BLIND, FRESH, CORPUS, CROSSED = "blind", "fresh", "corpus", "crossed"
WAYS = (BLIND, FRESH, CORPUS, CROSSED)

BLIND_DRAWS = 8
"""Draws of which a blind start takes one, each the likelier the less work it is: time, and not
executions, should follow what is drawn from. On the dearest back end a large architecture takes
minutes."""

LOOKED_AT = 48
"""Sequences that are drawn for each fresh start; the one that promises most is run. A draw and a
look take a fifth of a millisecond, an execution hundreds."""

CROSSINGS = 12
"""The same for crossings."""


class Starts:
    """Draws starts and learns which way of drawing them pays."""

    def __init__(
        self, state: SearchState, forecast: Forecast, *, looked_at: int = LOOKED_AT
    ) -> None:
        self.state = state
        self.forecast = forecast
        self.looked_at = looked_at
        self.yields: Yields[str] = Yields(WAYS)
        self._chosen: Counter[str] = Counter()

    @property
    def rate(self) -> float:
        """What starting yields for its work, by the way that yields most."""
        return max(map(self.yields.rate, WAYS))

    def draw(self, rng: Random, backend: int) -> tuple[str, Sequence | Entry]:
        """Return a way of starting on `backend`, and what to start from."""
        often = self.yields.frequencies
        ways = WAYS if len(self.state.corpus) else (BLIND, FRESH)
        way = rng.choices(ways, [often[each] for each in ways])[0]
        if way == BLIND:
            return way, self.blind(rng, backend)
        if way == FRESH:
            return way, self.fresh(rng, backend)
        if way == CORPUS:
            (entry,) = self._select(rng)
            return way, entry
        return way, self._crossed(rng, backend)

    def blind(self, rng: Random, backend: int) -> Sequence:
        """Return a draw whatever it promises, a cheap one rather than a dear one."""
        distribution = self.state.distribution
        drawn = [distribution.sample_sequence(rng, backends=(backend,)) for _ in range(BLIND_DRAWS)]
        return rng.choices(drawn, [1 / self.forecast.work(each) for each in drawn])[0]

    def fresh(self, rng: Random, backend: int) -> Sequence:
        """Return the most promising of some sequences that nothing was known of."""
        distribution = self.state.distribution
        return self.forecast.best(
            distribution.sample_sequence(rng, backends=(backend,))
            for _ in range(max(1, self.looked_at))
        )

    def _select(self, rng: Random, count: int = 1) -> list[Entry]:
        """Return entries whose firsts are rare still, that are cheap and seldom begun from."""
        entries = self.state.corpus.select(rng, self.state.ledger, self._chosen, count=count)
        self._chosen.update(entry.name for entry in entries)
        return entries

    def _crossed(self, rng: Random, backend: int) -> Sequence:
        """Return the most promising of some crossings of two entries."""
        crossings = []
        drawn = self._select(rng, 2 * CROSSINGS)
        for first, second in zip(drawn[::2], drawn[1::2], strict=True):
            child = cross(first.sequence, second.sequence, rng, self.state)
            crossings.append(on_backend(self.state.distribution.admit(child, rng), backend))
        return self.forecast.best(crossings)


def cross(first: Sequence, second: Sequence, rng: Random, state: SearchState) -> Sequence:
    """Return `first` up to some step, then `second` from some step on, over a subject of both.

    The constructs of `second` come along as far as there is room, so its changes mean what they
    meant; its calls are fitted to the architecture of `first`.
    """
    vocabulary = state.distribution.vocabulary
    constructs = dict.fromkeys((*first.subject.constructs, *second.subject.constructs))
    limit = vocabulary.limits["constructs"]
    subject = replace(first.subject, constructs=tuple(constructs)[:limit])
    served = {*subject.constructs, subject.architecture}
    served |= {target.name for target in vocabulary.ambient}
    head = first.steps[: rng.randrange(len(first.steps)) + 1]
    tail = second.steps[rng.randrange(len(second.steps)) :]
    kept = [step for step in tail if getattr(step, "target", subject.architecture) in served]
    steps = (*head, *kept)[: state.distribution.max_length]
    return normalise(Sequence(subject, first.options, steps), vocabulary)
