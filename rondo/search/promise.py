"""What a sequence promises: discoveries expected of it, and what running it is expected to cost.

The key insight: sequences are drawn in a millisecond and run in hundreds, so it pays to look at
several and run the one that promises most. The forecast need not be good. It only chooses among
draws, and every chain corrects for it exactly (see `mcmc`).

Discoveries are taken for a sum over features, each with a rate of its own. When an execution has
found k new behaviours, its features share k in proportion to what was expected of each - one step
of expectation maximisation for a sum of Poisson variables - and older credit fades, because
what a feature leads to is found once and then known. How much the n-th trial of a feature yields on
average is pooled over all features of its class: what nobody has tried is worth what others
were worth at their first trial. This is the question of how many species are still unseen, asked of
each part (Good, *The population frequencies of species*, 1953; for fuzzing Boehme, *STADS*, 2018).
"""

from __future__ import annotations

from collections.abc import Iterable

from rondo.sequences.step import Sequence

FADE = 0.7
"""How much of a feature's record is left after another trial of it."""

POOLED = 6.0
"""How many trials of its own weigh as much as the average of a feature's class."""

START_UNITS, CONSTRUCT_UNITS = 3.0, 2.0
"""What the start of an execution and a construct cost, where a call costs 1."""

FEW_UNITS = 12.0
"""An architecture's own cost is believed once it has been seen for so many units: two runs."""


class Promise:
    """Forecasts discoveries from features; learns from every execution.

    `_records` holds trials, faded trials and faded credit by feature, `_pools` trials and credit by
    class and number of trials (in powers of two).
    """

    def __init__(self) -> None:
        self._records: dict[str, list[float]] = {}
        self._pools: dict[str, list[float]] = {}

    def expect(self, features: Iterable[str]) -> float:
        """Return how many discoveries an execution with these features is expected to make."""
        return sum(map(self._rate, features))

    def learn(self, features: Iterable[str], found: float) -> None:
        """Note that an execution with these features made `found` discoveries."""
        rates = {feature: self._rate(feature) for feature in features}
        total = sum(rates.values()) or 1.0
        for feature, rate in rates.items():
            credit = found * rate / total
            record = self._records.setdefault(feature, [0.0, 0.0, 0.0])
            pool = self._pool(feature, record[0])
            pool[0] += 1
            pool[1] += credit
            record[0] += 1
            record[1] = FADE * record[1] + 1
            record[2] = FADE * record[2] + credit

    def reward(self, features: Iterable[str], found: float) -> None:
        """Credit the features of the last execution with more than was known of it at first."""
        rates = {feature: self._rate(feature) for feature in features}
        total = sum(rates.values()) or 1.0
        for feature, rate in rates.items():
            if feature in self._records:
                self._records[feature][2] += found * rate / total

    def _rate(self, feature: str) -> float:
        trials, faded, credit = self._records.get(feature, (0.0, 0.0, 0.0))
        pool = self._pool(feature, trials)
        return (credit + POOLED * pool[1] / pool[0]) / (faded + POOLED)

    def _pool(self, feature: str, trials: float) -> list[float]:
        """Return the pool of a feature's class after so many trials; at first, one in `trials`."""
        band = int(trials).bit_length()
        key = f"{feature.partition(' ')[0]} {band}"
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = [1.0, 0.5**band]
        return pool


class Effort:
    """Forecasts the work of a sequence from its architecture, its calls and its constructs.

    An architecture that was never run is taken for the average one, each counting once however
    often it was run: most executions are over the smallest, and the others cost several times that.
    Where it was run on a cheaper back end, whose records are `below`, it is taken for so many times
    the average as it is there: what has many operations has them everywhere.
    """

    def __init__(self, below: Effort | None = None) -> None:
        self._below = below
        self._known: dict[str, list[float]] = {}

    def expect(self, sequence: Sequence) -> float:
        """Return the work that `sequence` is expected to take."""
        architecture = sequence.subject.architecture
        units, work = self._known.get(architecture, (0.0, 0.0))
        guess = self._average() * self._relative_below(architecture)
        return _units(sequence) * (work + FEW_UNITS * guess) / (units + FEW_UNITS)

    def relative(self, architecture: str) -> float:
        """Return what a call of `architecture` takes, in units of the average one's."""
        if architecture in self._known:
            units, work = self._known[architecture]
            return work / units / self._average()
        return self._relative_below(architecture)

    def _relative_below(self, architecture: str) -> float:
        return self._below.relative(architecture) if self._below else 1.0

    def _average(self) -> float:
        """Return the mean over architectures of their work per unit."""
        if not self._known:
            return 1.0
        return sum(work / units for units, work in self._known.values()) / len(self._known)

    def learn(self, sequence: Sequence, work: float) -> None:
        """Note that `sequence` took so much work."""
        record = self._known.setdefault(sequence.subject.architecture, [0.0, 0.0])
        record[0] += _units(sequence)
        record[1] += work


def _units(sequence: Sequence) -> float:
    """Return the size of a sequence as far as work goes."""
    calls = sum(1 for _ in sequence.calls())
    return START_UNITS + calls + CONSTRUCT_UNITS * len(sequence.subject.constructs)
