"""The sweep: every change of every target once, and every value of what an input can be.

The key insight: most stateful bugs need no more than a call, one change and the same call again.
There are some hundreds of changes, so the shortest sequence that could show each is no search but a
list, as the deterministic stage of a byte fuzzer is; chance needs hours to draw all of it. What the
sweep leaves is what chains are for: what needs two changes, two constructs or unusual operands.

On the dearest back end, which fills disk caches, there are three rounds: with what is on disk, with
what is in memory dropped in front of each change, so that only what is on disk can be served, and
with memory alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from rondo.search.sampler import SearchState
from rondo.sequences.distribution import CACHED, SequenceDistribution, changes_to
from rondo.sequences.step import (
    CALL_CHOICES,
    OPTION_CHOICES,
    Call,
    Options,
    Sequence,
    Step,
    SubjectSpec,
    normalise,
)
from rondo.sequences.vocabulary import COMPILER, SMALLEST, TargetSpec, Vocabulary

REPETITIONS = 3
"""Equal calls in front: a second one is served, a third one what the second has left."""

MOST_STEPS = 24
"""Longer ones are cut in two: a fault in front hides what comes after it."""

TRAINING = 0.5
"""How often a call computes gradients: what is compiled for that is other code.

Where inputs vary it is drawn for each call, where something else does once for the sequence."""

PLAIN, DISK, DROPPED = "memory", "disk", "dropped"


@dataclass(frozen=True, slots=True)
class Task:
    """A sequence to be made: changes to `target`, or values of its inputs, from `part` on."""

    target: str
    part: int
    inputs: bool = False
    caches: str = PLAIN


class Sweep:
    """What is left of the list on each back end; it is made at the first question."""

    def __init__(self, state: SearchState) -> None:
        self.state = state
        self.left: dict[int, list[Task]] = {}

    @property
    def distribution(self) -> SequenceDistribution:
        """What the sequences of a campaign are drawn from."""
        return self.state.distribution

    def draw(self, rng: Random, backend: int) -> Sequence | None:
        """Return the next sequence of the list on `backend`, None at its end."""
        if backend not in self.left:
            self.left[backend] = self._listed(rng, backend)[::-1]
        if not self.left[backend]:
            return None
        return self._sequence(self.left[backend].pop(), rng, backend)

    # ------------------------------------------------------------------------------------ the list

    def _listed(self, rng: Random, backend: int) -> list[Task]:
        """Return all tasks of a back end: in any order, but what shows there alone first."""
        vocabulary = self.distribution.vocabulary
        dearest = backend == len(vocabulary.backends) - 1 > 0
        targets = [*vocabulary.constructs, *vocabulary.ambient]
        if not dearest:  # there the large ones would take all the time
            targets += [architecture.target for architecture in vocabulary.architectures]
        tasks: list[Task] = []
        for caches in (DISK, DROPPED, PLAIN) if dearest else (PLAIN,):
            for target in rng.sample(targets, len(targets)):
                tasks += self._about(target, caches)
        if dearest:
            named = vocabulary.targets_by_name
            tasks.sort(key=lambda task: named[task.target].kind != CACHED)
        return tasks

    def _about(self, target: TargetSpec, caches: str) -> Iterator[Task]:
        """Yield what there is to do to a target in one round."""
        _, room = self._room(caches)
        for part in range(0, len(changes_to(target)), room):
            yield Task(target.name, part, False, caches)
        if caches != DROPPED:
            for part in range(0, len(values_of(target)), room):
                yield Task(target.name, part, True, caches)

    def _room(self, caches: str) -> tuple[int, int]:
        """Return how many equal calls go into a sequence, and how many changes after them."""
        length = min(self.distribution.max_length, MOST_STEPS)
        each = 3 if caches == DROPPED else 2
        calls = max(1, min(REPETITIONS, length - each))
        return calls, max(1, (length - calls) // each)

    # ------------------------------------------------------------------------------- one sequence

    def _sequence(self, task: Task, rng: Random, backend: int) -> Sequence:
        vocabulary = self.distribution.vocabulary
        target = vocabulary.targets_by_name[task.target]
        usual = _usual(rng)
        calls, room = self._room(task.caches)
        steps: list[Step] = [usual] * calls
        end = task.part + room
        if task.inputs:
            for operand, value in values_of(target)[task.part : end]:
                steps += [_with(_usual(rng), operand, value), _usual(rng)]
        else:
            for change in changes_to(target)[task.part : end]:
                if task.caches == DROPPED:
                    steps += _drops(vocabulary, rng)
                steps += [change, usual]
        options = Options(backend, cache=OPTION_CHOICES["cache"].index(_kept(task.caches)))
        subject = self._subject(target, rng)
        sequence = normalise(Sequence(subject, options, tuple(steps)), vocabulary)
        return self.distribution.admit(sequence, rng)

    def _subject(self, target: TargetSpec, rng: Random) -> SubjectSpec:
        """Return the smallest subject that has the target; any one for what all have."""
        vocabulary = self.distribution.vocabulary
        if target in vocabulary.ambient:
            return replace(self.distribution.sample_subject(rng), seed=0)
        if target.name in vocabulary.architectures_by_name:
            return SubjectSpec(target.name)
        names = vocabulary.architectures_by_name
        return SubjectSpec(SMALLEST if SMALLEST in names else next(iter(names)), (target.name,))


def values_of(target: TargetSpec) -> list[tuple[str, int]]:
    """Return the operands that the inputs of a construct give a meaning to, with each value."""
    kinds = {spec.kind for spec in target.inputs}
    named: list[str] = [name for name in ("number", "integer") if name in kinds]
    if kinds & {"float", "list"}:  # another tensor, or a list, may be the same one
        named.append("alias")
    choices = [(name, value) for name in named for value in range(1, len(CALL_CHOICES[name]))]
    return choices + ([("sizes", 1), ("sizes", 2)] if target.inputs or choices else [])


def _usual(rng: Random) -> Call:
    return Call(backward=1, inputs_grad=1) if rng.random() < TRAINING else Call()


def _with(call: Call, operand: str, value: int) -> Call:
    if operand == "sizes":
        return replace(call, sizes=(value,))
    return replace(call, **{operand: value})  # type: ignore[arg-type]


def _kept(caches: str) -> str:
    return PLAIN if caches == PLAIN else DISK


def _drops(vocabulary: Vocabulary, rng: Random) -> list[Step]:
    """Return a change that has the compiler drop its code from memory, if there is any."""
    compiler = vocabulary.targets_by_name.get(COMPILER)
    kept = (
        []
        if compiler is None
        else [change for change in changes_to(compiler) if compiler.actions[change.action].drops]
    )
    return [rng.choice(kept)] if kept else []
