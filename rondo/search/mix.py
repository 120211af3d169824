"""The proposal mix: which moves are tried how often, learned from what they found for their work.

The key insight: a move and its inverse share one weight, so the mix may be anything at all and
every kernel of the family still leaves the target alone; what must be watched is that learning
*diminishes* (Roberts & Rosenthal, Coupling and ergodicity of adaptive MCMC, 2007). Here a weight is
an average over all work so far, and each trial moves an average by at most its share of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rondo.sequences.mutate import MUTATORS, move_of

FLOOR = 0.3
"""Share of the mix that is never learned, so that every move keeps being tried."""

PRIOR_WORK = 20.0
PRIOR_FOUND = 1.0
"""Every move starts as if twenty executions had made it find one thing."""

MOST_COUNTED = 10.0
"""An execution counts as so many discoveries at most: one lucky jump is no proof of a move."""


class ProposalMix:
    """Weights of the moves: FLOOR as in `MUTATORS`, the rest by discoveries per unit of work."""

    def __init__(self, *, floor: float = FLOOR) -> None:
        self.floor = floor
        self.work = {move.name: PRIOR_WORK for move in MUTATORS}
        self.found = {move.name: PRIOR_FOUND for move in MUTATORS}
        self._base = {move.name: move.weight for move in MUTATORS}
        self._weights = self._mixed()

    @property
    def weights(self) -> Mapping[str, float]:
        """Probability of each move, by name."""
        return self._weights

    def observe(self, operators: Iterable[str], *, found: float, work: float = 1.0) -> None:
        """Note that a proposal of `operators` was executed, what it found, and with how much work.

        All of them get the credit: over many proposals the moves that matter stand out.
        """
        for move in sorted({move_of(operator) for operator in operators}):
            self.work[move] += work
            self.found[move] += min(found, MOST_COUNTED)
        self._weights = self._mixed()

    def _mixed(self) -> dict[str, float]:
        rates = {name: self.found[name] / self.work[name] for name in self._base}
        earned = {name: weight * rates[name] for name, weight in self._base.items()}
        total, total_earned = sum(self._base.values()), sum(earned.values())
        return {
            name: self.floor * self._base[name] / total
            + (1 - self.floor) * earned[name] / total_earned
            for name in self._base
        }
