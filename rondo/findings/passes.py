"""Shortening passes: plain functions from a sequence to candidates that are smaller in one way.

The key insight: order is what makes shortening fast. What makes every later execution cheaper comes
first - a cheaper back end, a smaller architecture, fewer constructs - and what matters only to a
reader comes last. `single_removals` is the definition of the goal: a sequence none of whose single
removals still shows the bug is 1-minimal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any

from rondo.findings.bucket import without_constructs
from rondo.sequences.step import (
    CALL_CHOICES,
    OPTION_CHOICES,
    Call,
    Change,
    Options,
    Sequence,
    Step,
)
from rondo.sequences.vocabulary import SMALLEST, Vocabulary

Pass = Callable[[Sequence, int, Vocabulary], Iterator[Sequence]]
"""From a sequence and the position of its exposing step to candidates, best first."""

LADDER = (SMALLEST, "mlp", "cnn", "resnet_block", "lstm", "transformer_encoder", "gpt_decoder")
"""Architectures from the smallest up, where a framework has them. A bug that needs parameters, or a
second dimension, ends at the first that has them: the same one from whatever it was found in."""

OPTIONS = ("mode", *OPTION_CHOICES)


def cut_after(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Cut what follows the exposing step."""
    if step + 1 < len(sequence.steps):
        yield sequence.with_steps(sequence.steps[: step + 1])


def cheaper_backend(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Take a cheaper back end, the cheapest first."""
    options = sequence.options
    for backend in range(options.backend):
        yield replace(sequence, options=replace(options, backend=backend))


def smaller_architecture(
    sequence: Sequence, step: int, vocabulary: Vocabulary
) -> Iterator[Sequence]:
    """Take an architecture further down the ladder, with and without the steps that change it."""
    for smaller, without in _down_the_ladder(sequence, vocabulary):
        yield without
        if without != smaller:
            yield smaller


def _down_the_ladder(
    sequence: Sequence, vocabulary: Vocabulary
) -> Iterator[tuple[Sequence, Sequence]]:
    """Yield `sequence` on each architecture below its own, with and without steps changing that."""
    own = sequence.subject.architecture
    for name in LADDER:
        if name == own:
            return
        if name not in vocabulary.architectures_by_name:
            continue
        smaller = replace(sequence, subject=replace(sequence.subject, architecture=name))
        steps = tuple(s for s in sequence.steps if not (isinstance(s, Change) and s.target == own))
        yield smaller, smaller.with_steps(steps)


def inputs_for_parameters(
    sequence: Sequence, step: int, vocabulary: Vocabulary
) -> Iterator[Sequence]:
    """Have calls want their inputs' gradients, without a construct or on a smaller architecture.

    A gradient that is wrong needs something that it is of. The parameters of an architecture, or of
    a construct that only carries them, are one such thing and the inputs another: of two that can
    stand for each other, neither alone can go.
    """
    without = [without_constructs(sequence, [name]) for name in sequence.subject.constructs]
    for smaller in (*without, *(each for _, each in _down_the_ladder(sequence, vocabulary))):
        steps = tuple(
            replace(s, inputs_grad=1) if isinstance(s, Call) and s.backward else s
            for s in smaller.steps
        )
        if steps != smaller.steps:
            yield smaller.with_steps(steps)


def drop_constructs(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Drop all constructs, then all but one, then one, each with the steps that change it."""
    names = sequence.subject.constructs
    if names:
        yield without_constructs(sequence, names)
    if len(names) > 2:
        for kept in names:
            yield without_constructs(sequence, [name for name in names if name != kept])
    for name in names:
        yield without_constructs(sequence, [name])


def plain_architecture(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Take an architecture of the ladder alone for constructs that no change is about.

    A bug of what is around a subject needs some parameter or some buffer, and whose it is is an
    accident: the same bug would end in a bucket for each construct that happens to have one. Where
    nothing changes but calls, it is the construct that they are about.
    """
    subject = sequence.subject
    changed = {step.target for step in sequence.steps if isinstance(step, Change)}
    if not subject.constructs or not changed or changed & set(subject.constructs):
        return
    for name in LADDER:
        if name in vocabulary.architectures_by_name:
            plain = replace(subject, architecture=name, constructs=())
            yield replace(sequence, subject=plain)


def ordered_changes(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Put two changes in a row into one order: which comes last is in the key of a bucket."""
    steps = sequence.steps
    for position, (first, second) in enumerate(pairwise(steps)):
        if not isinstance(first, Change) or not isinstance(second, Change):
            continue
        if _order_of(first) > _order_of(second):
            yield sequence.with_steps((*steps[:position], second, first, *steps[position + 2 :]))


def one_change_alone(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Drop a change and put it, or any other change of its target, in the place of a later one.

    What shows when something is switched off, traced, and switched on again shows as well, most
    often, when it is only switched off; and neither of the two changes can go alone. Nor can they
    where the second only makes visible what the first did, and another change does both at once.
    """
    changes = [(at, each) for at, each in enumerate(sequence.steps) if isinstance(each, Change)]
    for (early, first), (late, second) in combinations(changes, 2):
        if first.target != second.target:
            continue
        actions = vocabulary.targets_by_name[first.target].actions
        others = (
            Change(first.target, number, value)
            for number, action in enumerate(actions)
            for value in range(action.values)
        )
        for alone in dict.fromkeys((first, *others)):
            if alone != second:  # dropping the first is what every other pass tries
                steps = list(sequence.steps)
                steps[late] = alone
                del steps[early]
                yield sequence.with_steps(tuple(steps))


def later_changes(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Make a change directly in front of the exposing step instead of before earlier calls.

    Where several changes are needed, which of them comes after the call that establishes is often
    free: the bug is then exposed by one of them, or by the mere repetition of a call.
    """
    steps = sequence.steps
    calls = [position for position, _ in sequence.calls() if position < step]
    for position in range(calls[-1] if calls else 0):
        if isinstance(steps[position], Change):
            rest = (*steps[:position], *steps[position + 1 : step])
            yield sequence.with_steps((*rest, steps[position], *steps[step:]))


def _order_of(change: Change) -> tuple[str, int, int]:
    return change.target, change.action, change.value


def delete_steps(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Delete runs of steps, long runs first, later ones first; the exposing step stays.

    Delta debugging (Zeller and Hildebrandt, 2002): halves, then quarters, down to one.
    """
    length = max(1, step)
    while step and length:
        for start in range(step - length, -length, -length):
            kept = sequence.steps[: max(start, 0)] + sequence.steps[start + length :]
            yield sequence.with_steps(kept)
        length //= 2


def usual_options(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Take all compile options back to their usual choices, then each, and the usual seed."""
    options = sequence.options
    if sum(getattr(options, name) > 0 for name in OPTIONS) > 1:
        yield replace(sequence, options=Options(backend=options.backend))
    for name in OPTIONS:
        if getattr(options, name):
            yield replace(sequence, options=replace(options, **{name: 0}))
    if sequence.subject.seed:
        yield replace(sequence, subject=replace(sequence.subject, seed=0))


def usual_operands(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Take steps back to their usual choices: all calls together, then one step at a time.

    Together, because a stale entry is often served only to a call equal to the one that made it.
    """
    steps = sequence.steps
    for simpler_call in _simpler_calls():
        calls = {position: simpler_call(call) for position, call in sequence.calls()}
        yield sequence.with_steps(tuple(calls.get(i, s) for i, s in enumerate(steps)))
    for position, current in enumerate(steps):
        for simpler in simpler_steps(current):
            yield sequence.with_steps((*steps[:position], simpler, *steps[position + 1 :]))


def single_removals(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Remove each single thing that can be removed, whatever pass it belongs to.

    Every step (the exposing one too), construct, option and operand that is not the usual choice,
    every cheaper back end, the seed, and the architecture for each one below it.
    """
    steps = sequence.steps
    for position in range(len(steps)):
        yield sequence.with_steps(steps[:position] + steps[position + 1 :])
    for name in sequence.subject.constructs:
        yield without_constructs(sequence, [name])
    for each in (cheaper_backend, usual_options, smaller_architecture):
        yield from each(sequence, step, vocabulary)
    for position, current in enumerate(steps):
        for simpler in simpler_steps(current):
            yield sequence.with_steps((*steps[:position], simpler, *steps[position + 1 :]))


def simpler_steps(step: Step) -> Iterator[Step]:
    """Yield `step` with one operand that is closer to the usual choice."""
    if isinstance(step, Change):
        for value in range(step.value):
            yield replace(step, value=value)
        return
    for name in CALL_CHOICES:
        if getattr(step, name):
            yield usual(step, name)
    for index, size in enumerate(step.sizes):
        if size:
            yield replace(step, sizes=(*step.sizes[:index], 0, *step.sizes[index + 1 :]))


def usual(call: Call, operand: str) -> Call:
    """Return `call` with one operand back at its usual choice."""
    change: dict[str, Any] = {operand: 0}
    return replace(call, **change)


def _simpler_calls() -> Iterator[Callable[[Call], Call]]:
    """Yield ways to simplify any call: entirely, all but its sizes, its sizes, one operand."""
    yield lambda call: Call(sizes=(0,) * len(call.sizes))
    yield lambda call: Call(sizes=call.sizes)
    yield lambda call: replace(call, sizes=(0,) * len(call.sizes))
    for name in CALL_CHOICES:
        yield partial(usual, operand=name)


PASSES: tuple[Pass, ...] = (
    cut_after,
    cheaper_backend,
    smaller_architecture,
    drop_constructs,
    delete_steps,
    plain_architecture,
    inputs_for_parameters,
    usual_options,
    usual_operands,
    one_change_alone,
    later_changes,
    ordered_changes,
    single_removals,
)
