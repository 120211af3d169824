"""Tiers: how often each back end is tried.

The key insight: what is scarce is time, so time is what is shared out; a share becomes a number of
executions by dividing by what one costs. The costs are constants, not measurements, so that equal
seeds give equal campaigns; whoever measures may set other weights.

A guided sampler learns the shares (`LearnedTiers`): by what each back end still discovers for the
time that it takes, which falls as a tier is used up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from rondo.search.yields import Yields

TIME_SHARES = (0.6, 0.3, 0.1)
"""Share of the time for the cheapest back end, the next one ...; any others get the last."""

NOMINAL_COSTS = (1.0, 2.5, 12.0)
"""What the same work costs on each, relative to the cheapest: CPU seconds in campaigns of ten
minutes, torch 2.13. The dearest tier compiles kernels."""


def default_tier_weights(backends: Iterable[int]) -> dict[int, float]:
    """Return how often to try each back end (they run from the cheapest to the dearest)."""
    last = len(TIME_SHARES) - 1
    return {backend: TIME_SHARES[min(backend, last)] / cost_of(backend) for backend in backends}


class TierSchedule:
    """Draws back ends in proportion to weights that may be set at any time."""

    def __init__(
        self, backends: tuple[int, ...], weights: Mapping[int, float] | None = None
    ) -> None:
        if not backends or len(set(backends)) < len(backends):
            raise ValueError(f"back ends must be some and distinct, not {backends}")
        self.backends = backends
        self._weights: dict[int, float] = {}
        self.weights = default_tier_weights(backends) if weights is None else weights

    @property
    def weights(self) -> Mapping[int, float]:
        """Probability of each back end; when set, positive numbers that need not sum to one."""
        return self._weights

    @weights.setter
    def weights(self, weights: Mapping[int, float]) -> None:
        usable = weights.keys() == set(self.backends) and all(w >= 0 for w in weights.values())
        if not usable or not sum(weights.values()) > 0:
            raise ValueError(f"weights {dict(weights)} do not fit the back ends {self.backends}")
        total = sum(weights.values())
        self._weights = {backend: weights[backend] / total for backend in self.backends}

    def draw(self, rng: Random) -> int:
        """Return a back end."""
        return rng.choices(self.backends, tuple(self._weights.values()))[0]


class LearnedTiers(TierSchedule):
    """A schedule whose time shares follow discoveries per unit of time.

    A bandit whose arms change: each back end's record fades with the work put into it, and a
    share of the time is spread evenly whatever happens (`yields.FLOOR`). Work is counted, not
    timed, and weighed by the nominal cost of its tier.
    """

    def __init__(self, backends: tuple[int, ...]) -> None:
        super().__init__(backends)
        self.yields: Yields[int] = Yields(backends)

    def note(self, backend: int, found: float, work: float) -> None:
        """Note what an execution on `backend` found, with so much work (1: a usual one's)."""
        cost = cost_of(backend)
        self.yields.note(backend, found, work * cost)
        self.weights = {each: share / cost_of(each) for each, share in self.yields.shares.items()}


def cost_of(backend: int) -> float:
    """Return what work costs on a back end, relative to the cheapest."""
    return NOMINAL_COSTS[min(backend, len(NOMINAL_COSTS) - 1)]
