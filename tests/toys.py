"""Vocabularies without a framework: a toy with every feature, and a tiny one to enumerate.

`Enumerator` stands in for `random.Random` and walks through every outcome of the code that draws
from it, with exact probabilities: a transition kernel becomes a table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import chain, permutations, product
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from rondo.sequences.codec import HEADER, decode
from rondo.sequences.distribution import SequenceDistribution, call_of, changes_to
from rondo.sequences.step import CALL_CHOICES, OPTION_CHOICES, Options, Sequence, SubjectSpec
from rondo.sequences.vocabulary import (
    ActionSpec,
    ArchitectureSpec,
    Dimension,
    InputSpec,
    Schema,
    TargetSpec,
    Vocabulary,
)

Outcome = TypeVar("Outcome")


def target(name: str, *values: int, inputs: tuple[InputSpec, ...] = ()) -> TargetSpec:
    """A target with one action per number of `values`."""
    actions = tuple(ActionSpec(f"action{n}", "", count) for n, count in enumerate(values))
    return TargetSpec(name, f"the {name}", "toy", actions, inputs)


def architecture(name: str, sizes: dict[str, int], *values: int) -> ArchitectureSpec:
    """An architecture with `sizes` choices for each dimension and one action per `values`."""
    dimensions = tuple(Dimension(key, tuple(range(1, n + 1))) for key, n in sizes.items())
    schema = Schema(dimensions, (InputSpec("x", (*sizes, 8)),))
    return ArchitectureSpec(target(name, *values), schema)


def toy_vocabulary() -> Vocabulary:
    """Three architectures, five constructs, both ambient targets, three back ends, two modes."""
    return Vocabulary(
        framework="toy",
        architectures=(
            architecture("mlp", {"batch": 5}, 3),
            architecture("lstm", {"batch": 5, "time": 4}),
            architecture("cnn", {"batch": 4, "width": 3}, 2, 1),
        ),
        constructs=(
            target("factor", 4, inputs=(InputSpec("scale", kind="number"),)),
            target("counter", 1, 3),
            target("cache", 2, inputs=(InputSpec("steps", kind="integer"),)),
            target("silent"),
            target("hook", 2, 2),
        ),
        ambient=(target("program", 2, 3), target("compiler", 1, 3)),
        backends=("cheap", "middle", "dear"),
        modes=("default", "other"),
    )


def tiny_vocabulary() -> Vocabulary:
    """Small enough to list every sequence of two steps, once the choices are tiny too."""
    return Vocabulary(
        framework="tiny",
        architectures=(
            architecture("a", {"batch": 2}, 1),
            architecture("b", {"batch": 2, "time": 2}, 2),
        ),
        constructs=(target("k", 2), target("l", 1, 1), target("m")),
        ambient=(target("program", 2),),
        backends=("cheap", "dear"),
        limits={"constructs": 2, "steps": 3},
    )


TINY_CALL_CHOICES = {"dtype": ("float32", "float64"), "grad": ("grad", "no_grad")}
TINY_OPTION_CHOICES = {"dynamic": ("auto", "true", "false")}


def make_choices_tiny(monkeypatch: Any) -> None:
    """Leave two call operands and one option with a choice."""
    for name in tuple(CALL_CHOICES):
        choices = TINY_CALL_CHOICES.get(name, CALL_CHOICES[name][:1])
        monkeypatch.setitem(CALL_CHOICES, name, choices)
    for name in tuple(OPTION_CHOICES):
        choices = TINY_OPTION_CHOICES.get(name, OPTION_CHOICES[name][:1])
        monkeypatch.setitem(OPTION_CHOICES, name, choices)


def enumerate_sequences(
    distribution: SequenceDistribution, *, seeds: Iterable[int] = (0,)
) -> Iterator[Sequence]:
    """Every valid sequence of back end 0 with a prior weight (call it with tiny choices)."""
    vocabulary = distribution.vocabulary
    names = [construct.name for construct in vocabulary.constructs]
    limit = vocabulary.limits["constructs"]
    options = [
        Options(**dict(zip(OPTION_CHOICES, values, strict=True)))
        for values in product(*(range(len(table)) for table in OPTION_CHOICES.values()))
    ]
    for spec in vocabulary.architectures:
        for constructs in (p for n in range(limit + 1) for p in permutations(names, n)):
            for seed in seeds:
                subject = SubjectSpec(spec.name, constructs, seed)
                model = distribution.model(subject)
                calls = [call_of(row) for row in product(*(range(len(s)) for s in model.slots))]
                changes = chain.from_iterable(map(changes_to, model.targets.values()))
                steps: list[Any] = [*calls, *changes]
                for length in range(distribution.max_length):
                    for head in product(steps, repeat=length):
                        for last in calls:
                            for chosen in options:
                                yield Sequence(subject, chosen, (*head, last))


class Enumerator(Random):
    """A random source that follows a script of choices and notes what it could have chosen."""

    def __init__(self) -> None:
        super().__init__(0)
        self.script: list[int] = []
        self.widths: list[int] = []
        self.probability: Fraction | float = Fraction(1)

    def _decide(self, weights: list[Any]) -> int:
        possible = [number for number, weight in enumerate(weights) if weight]
        depth = len(self.widths)
        self.widths.append(len(possible))
        if depth == len(self.script):
            self.script.append(0)
        choice = possible[self.script[depth]]
        self.probability *= weights[choice]
        return choice

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:  # type: ignore[override]
        assert stop is None, "only randrange(n) is enumerated"
        return self._decide([Fraction(1, start)] * start)

    def choice(self, seq: Any) -> Any:
        return seq[self.randrange(len(seq))]

    def choices(  # type: ignore[override]
        self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1
    ) -> list[Any]:
        assert weights is not None
        assert cum_weights is None
        assert k == 1
        total = sum(weights)
        return [population[self._decide([weight / total for weight in weights])]]

    def sample(self, population: Any, k: int, *, counts: Any = None) -> list[Any]:
        ordered = list(permutations(population, k))
        return list(ordered[self._decide([Fraction(1, len(ordered))] * len(ordered))])

    def random(self) -> float:
        raise AssertionError("a coin of any bias cannot be enumerated")

    def advance(self) -> bool:
        """Turn to the next script; False when all outcomes were seen."""
        while self.script and self.script[-1] + 1 == self.widths[len(self.script) - 1]:
            self.script.pop()
        if not self.script:
            return False
        self.script[-1] += 1
        self.widths.clear()
        self.probability = Fraction(1)
        return True


def outcomes(function: Callable[[Random], Outcome]) -> Iterator[tuple[Outcome, float]]:
    """Every outcome of `function` with its probability; outcomes may repeat."""
    rng = Enumerator()
    while True:
        outcome = function(rng)
        yield outcome, float(rng.probability)
        if not rng.advance():
            return


def tally(function: Callable[[Random], Any]) -> dict[Any, float]:
    """The exact distribution of what `function` returns."""
    found: dict[Any, float] = defaultdict(float)
    for outcome, probability in outcomes(function):
        found[outcome] += probability
    return dict(found)


def sequences(vocabulary: Vocabulary) -> st.SearchStrategy[Sequence]:
    """Valid sequences of any kind: what random bytes mean, and what the distribution draws."""
    distribution = SequenceDistribution(vocabulary)

    def sample(seed: int, length: int) -> Sequence:
        backends = range(len(vocabulary.backends))
        return distribution.sample_sequence(Random(seed), length, backends=backends)

    decoded = st.binary(max_size=250).map(lambda tail: decode(HEADER + tail, vocabulary))
    return decoded | st.builds(sample, st.integers(0, 2**32), st.integers(1, 12))
