"""What can be taken away from a sequence, and whether two alarms are one bug.

The key insight: whoever checks that nothing more can go must not ask the code that took things
away. So this shares nothing with the passes of `rondo.findings`, and not with its buckets either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rondo.oracle.result import Alarm, Identity, Result
from rondo.sequences.step import CALL_CHOICES, Call, Change, Sequence, Step
from rondo.sequences.vocabulary import COMPILER, SMALLEST, Vocabulary


def compiler_changes(sequence: Sequence) -> int:
    """Return how many steps are changes of the compiler's own state."""
    return sum(isinstance(s, Change) and s.target == COMPILER for s in sequence.steps)


def served(result: Result, alarm: Alarm) -> bool:
    """Whether the exposing call was served what had been compiled before."""
    return result.outcomes.get(alarm.step) == "hit"


def same_bug(first: Identity, second: Identity) -> bool:
    """Whether two alarms are of one kind at one place."""
    names = ("verdict", "effect", "place", "exception")
    return all(getattr(first, name) == getattr(second, name) for name in names)


def without(sequence: Sequence, names: set[str]) -> Sequence:
    """Return `sequence` without some constructs and the changes to them."""
    kept = tuple(name for name in sequence.subject.constructs if name not in names)
    steps = [s for s in sequence.steps if not (isinstance(s, Change) and s.target in names)]
    subject = replace(sequence.subject, constructs=kept)
    return replace(sequence, subject=subject, steps=tuple(steps))


def every_removal(sequence: Sequence, vocabulary: Vocabulary) -> Iterator[tuple[str, Sequence]]:
    """Yield each single thing that can be taken away, by name. Written apart from the passes."""
    for number in range(len(sequence.steps)):
        steps = list(sequence.steps)
        del steps[number]
        yield f"step {number}", replace(sequence, steps=tuple(steps))
    for name in sequence.subject.constructs:
        yield f"construct {name}", without(sequence, {name})
    for field in ("mode", "dynamic", "fullgraph", "cache"):
        if getattr(sequence.options, field) != 0:
            options = replace(sequence.options, **{field: 0})
            yield f"option {field}", replace(sequence, options=options)
    for number in range(sequence.options.backend):
        options = replace(sequence.options, backend=number)
        yield f"back end above {vocabulary.backends[number]}", replace(sequence, options=options)
    if sequence.subject.architecture != SMALLEST and SMALLEST in vocabulary.architectures_by_name:
        subject = replace(sequence.subject, architecture=SMALLEST)
        yield "architecture", replace(sequence, subject=subject)
    if sequence.subject.seed:
        yield "seed", replace(sequence, subject=replace(sequence.subject, seed=0))
    for number, step in enumerate(sequence.steps):
        for what, smaller in smaller_steps(step):
            steps = list(sequence.steps)
            steps[number] = smaller
            yield f"{what} of step {number}", replace(sequence, steps=tuple(steps))


def smaller_steps(step: Step) -> Iterator[tuple[str, Step]]:
    """Yield a step with one operand, or one size, back at the first choice of its table."""
    if not isinstance(step, Call):
        if step.value:
            yield "value", Change(step.target, step.action, 0)
        return
    for name in CALL_CHOICES:
        if getattr(step, name):
            yield name, replace(step, **{name: 0})
    for number, size in enumerate(step.sizes):
        if size:
            sizes = list(step.sizes)
            sizes[number] = 0
            yield f"dimension {number}", replace(step, sizes=tuple(sizes))
