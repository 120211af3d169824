"""The sweep: every change of every target once, and every value that an input's meaning depends on.

The key insight: most stateful bugs need no more than a call, one change and the same call again.
There are about a thousand changes, so the shortest sequence that could show each is no search but a
list, as the deterministic stage of a byte fuzzer is; chance needs hours to draw all of it. What the
sweep leaves is what chains are for: what needs two changes, two constructs or unusual operands.

Where a back end keeps compiled code on disk there are three rounds: with what is on disk, with what
is in memory dropped in front of each change, so that only what is on disk can be served, and with
memory alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Series
from dataclasses import dataclass, replace
from itertools import cycle
from random import Random
from typing import TypeAlias

from rondo.search.sampler import SearchState
from rondo.sequences.distribution import CACHED, SequenceDistribution, changes_to
from rondo.sequences.step import (
    CALL_CHOICES,
    OPTION_CHOICES,
    Call,
    Change,
    Options,
    Sequence,
    Step,
    SubjectSpec,
    normalise,
)
from rondo.sequences.vocabulary import COMPILER, PROGRAM, SMALLEST, TargetSpec, Vocabulary

REPETITIONS = 3
"""Equal calls in front: a second one is served, a third one what the second has left."""

TOGETHER = 7
"""Changes to a construct that share a sequence. Each may ask for a compilation, and a compiler
gives up on a function after some: torch after eight."""

TRAINING = 0.5
"""How often the calls around changes compute gradients: what is compiled for that is other code."""

PLAIN, TRAINED = Call(), Call(backward=1, inputs_grad=1)
PAIRS = ((TRAINED, TRAINED), (PLAIN, PLAIN), (PLAIN, TRAINED), (TRAINED, PLAIN))
"""Where inputs vary: the call with another value and the call after it, in turn, after plain ones.

The value that a call had when it was compiled for gradients may be served to one without, and the
other way round."""

PARAMETERS = "mlp"
"""A small architecture that has parameters: changes of the program mostly are to those."""

MEMORY, DISK, DROPPED = "memory", "disk", "dropped"
"""The rounds. The first two are choices of the option `cache`, the third is a form of `disk`."""

Variation: TypeAlias = Change | tuple[str, int]
"""A change between two equal calls, or an operand of a call and the value it takes there."""


@dataclass(frozen=True, slots=True)
class Task:
    """A sequence to be made: what varies in it, one after the other, and in which round."""

    target: str
    variations: tuple[Variation, ...]
    caches: str = MEMORY


class Sweep:
    """What is left of the list on each back end; it is made at the first question."""

    def __init__(self, state: SearchState) -> None:
        self.state = state
        self.left: dict[int, list[Task]] = {}

    @property
    def distribution(self) -> SequenceDistribution:
        """What the sequences of a campaign are drawn from."""
        return self.state.distribution

    @property
    def vocabulary(self) -> Vocabulary:
        """What sequences can say."""
        return self.state.distribution.vocabulary

    def draw(self, rng: Random, backend: int) -> tuple[Task, Sequence] | None:
        """Return the next task of the list on `backend` and its sequence, None at its end."""
        if backend not in self.left:
            self.left[backend] = self._listed(rng, backend)[::-1]
        if not self.left[backend]:
            return None
        task = self.left[backend].pop()
        return task, self._sequence(task, rng, backend)

    def split(self, task: Task, backend: int) -> None:
        """Put what varied in an alarming sequence at the end of the list, one by one.

        A fault in front hides what comes after it: nobody knows what else was there.
        """
        if len(task.variations) > 1:
            single = [replace(task, variations=(each,)) for each in task.variations]
            self.left[backend] = [*single, *self.left[backend]]

    def lists(self, target: str, backend: int) -> bool:
        """Whether the list of `backend` holds changes to `target`.

        The dearest one has no architectures: large ones would take all the time there, also where
        a campaign has no other. What they show below climbs, the rest is left to chains.
        """
        dearest = self.distribution.is_dearest(backend)
        return not dearest or target not in self.vocabulary.architectures_by_name

    # ------------------------------------------------------------------------------------ the list

    def _listed(self, rng: Random, backend: int) -> list[Task]:
        """Return all tasks of a back end: in any order, but what shows there alone first."""
        vocabulary = self.vocabulary
        targets = [*vocabulary.constructs, *vocabulary.ambient]
        architectures = [each.target for each in vocabulary.architectures]
        targets += [each for each in architectures if self.lists(each.name, backend)]
        on_disk = vocabulary.backends[backend] in vocabulary.disk
        tasks: list[Task] = []
        for caches in (DISK, DROPPED, MEMORY) if on_disk else (MEMORY,):
            for target in rng.sample(targets, len(targets)):
                tasks += self._about(target, caches, rng)
        if on_disk:
            named = vocabulary.targets_by_name
            tasks.sort(key=lambda task: named[task.target].kind != CACHED)
        return tasks

    def _about(self, target: TargetSpec, caches: str, rng: Random) -> Iterator[Task]:
        """Yield what there is to do to a target in one round."""
        ambient = target in self.vocabulary.ambient
        if caches == DROPPED and (ambient or not _drops(self.vocabulary)):
            return
        changes = changes_to(target)
        # What is done to the compiler stays, and so does much of the rest: each by itself.
        room = (self.distribution.max_length - 1) // (3 if caches == DROPPED else 2)
        together = min(1 if ambient else TOGETHER, room)
        yield from _dealt(target, rng.sample(changes, len(changes)), together, caches)
        if caches != DROPPED:
            yield from _dealt(target, values_of(target), min(TOGETHER, room), caches)

    # ------------------------------------------------------------------------------- one sequence

    def _sequence(self, task: Task, rng: Random, backend: int) -> Sequence:
        vocabulary = self.vocabulary
        trained = rng.random() < TRAINING
        usual = TRAINED if trained and isinstance(task.variations[0], Change) else PLAIN
        steps: list[Step] = []
        for variation, (call, again) in zip(task.variations, cycle(PAIRS), strict=False):
            if isinstance(variation, Change):
                if task.caches == DROPPED:
                    steps.append(rng.choice(_drops(vocabulary)))
                steps += [variation, usual]
            else:
                steps += [_with(call, *variation), again]
        calls = max(1, min(REPETITIONS, self.distribution.max_length - len(steps)))
        cache = MEMORY if task.caches == MEMORY else DISK
        options = Options(backend, cache=OPTION_CHOICES["cache"].index(cache))
        subject = self._subject(vocabulary.targets_by_name[task.target], rng, backend)
        sequence = Sequence(subject, options, (*[usual] * calls, *steps))
        return normalise(sequence, vocabulary)

    def _subject(self, target: TargetSpec, rng: Random, backend: int) -> SubjectSpec:
        """Return a small subject that has the target, with some construct if all have it."""
        names = self.vocabulary.architectures_by_name
        if target.name in names:
            return SubjectSpec(target.name)
        wanted = PARAMETERS if target.name == PROGRAM else SMALLEST
        architecture = wanted if wanted in names else rng.choice(sorted(names))
        if target not in self.vocabulary.ambient:
            return SubjectSpec(architecture, (target.name,))
        drawn = self.distribution.sample_subject(rng, backend)
        return SubjectSpec(architecture, drawn.constructs[:1])


def values_of(target: TargetSpec) -> list[tuple[str, int]]:
    """Return the operands to which the inputs of a construct give a meaning, with each value.

    For other tensors that is whether they are the same ones, for all inputs two more batch sizes.
    """
    kinds = {spec.kind for spec in target.inputs}
    named: list[str] = [name for name in ("number", "integer") if name in kinds]
    if kinds & {"float", "list"}:
        named.append("alias")
    choices = [(name, value) for name in named for value in range(1, len(CALL_CHOICES[name]))]
    return choices + ([("sizes", 1), ("sizes", 2)] if target.inputs else [])


def _dealt(
    target: TargetSpec, variations: Series[Variation], together: int, caches: str
) -> Iterator[Task]:
    """Yield tasks of at most so many variations; none where not even one has room."""
    for part in range(0, len(variations), together) if together > 0 else ():
        yield Task(target.name, tuple(variations[part : part + together]), caches)


def _with(call: Call, operand: str, value: int) -> Call:
    if operand == "sizes":
        return replace(call, sizes=(value,))
    # Every operand but the sizes is an index, which a checker cannot read off its name.
    return replace(call, **{operand: value})  # type: ignore[arg-type]


def _drops(vocabulary: Vocabulary) -> list[Change]:
    """Return the changes that have the compiler drop its code from memory."""
    compiler = vocabulary.targets_by_name.get(COMPILER)
    if compiler is None:
        return []
    return [each for each in changes_to(compiler) if compiler.actions[each.action].drops]
