"""Mutations of the steps: one operator a function, each with the exact ratio of its path.

The key insight: an operator draws auxiliary variables (a position, a step, a block), and its
inverse draws the ones that undo it. Pairing *paths* instead of sequences keeps every ratio a line
of arithmetic: that two paths may lead to the same sequence does not matter.

n is the number of steps before the operator; the comments give q(there) and q(back).
"""

from __future__ import annotations

import math
from collections import Counter
from random import Random

from rondo.sequences.blocks import BLOCK_LENGTHS
from rondo.sequences.distribution import call_of, changes_to, slots_of
from rondo.sequences.proposal import MutationContext, Proposal
from rondo.sequences.step import Change, Sequence, Step


def _without(steps: tuple[Step, ...], position: int) -> tuple[Step, ...]:
    return steps[:position] + steps[position + 1 :]


def _with(steps: tuple[Step, ...], position: int, step: Step) -> tuple[Step, ...]:
    return (*steps[:position], step, *steps[position + 1 :])


def insert_step(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Insert a step, which may echo one of the others, anywhere."""
    steps, distribution = sequence.steps, context.distribution
    if len(steps) >= distribution.max_length:
        return None
    position = rng.randrange(len(steps) + 1)
    step = distribution.sample(rng, sequence.subject, steps)
    # there: 1/(n+1) * g(step | steps); back: 1/(n+1)
    ratio = -distribution.log_density(step, sequence.subject, steps)
    longer = (*steps[:position], step, *steps[position:])
    return Proposal(sequence.with_steps(longer), ("insert_step",), ratio)


def delete_step(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Delete a step."""
    steps = sequence.steps
    if len(steps) < 2:
        return None
    position = rng.randrange(len(steps))
    rest = _without(steps, position)
    # there: 1/n; back: 1/n * g(step | rest)
    ratio = context.distribution.log_density(steps[position], sequence.subject, rest)
    return Proposal(sequence.with_steps(rest), ("delete_step",), ratio)


def _repetitions(steps: tuple[Step, ...]) -> list[int]:
    """Return, for each step, how many others equal it."""
    counts = Counter(steps)
    return [counts[step] - 1 for step in steps]


def duplicate_step(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Insert a copy of a step anywhere."""
    steps = sequence.steps
    if not 0 < len(steps) < context.distribution.max_length:
        return None
    step = steps[rng.randrange(len(steps))]
    position = rng.randrange(len(steps) + 1)
    longer = (*steps[:position], step, *steps[position:])
    # there: 1/n * 1/(n+1); back: one of the ordered pairs of equal steps
    pairs = sum(_repetitions(longer))
    ratio = math.log(len(steps) * len(longer)) - math.log(pairs)
    return Proposal(sequence.with_steps(longer), ("duplicate_step",), ratio)


def deduplicate_step(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Delete a step that another one equals."""
    steps = sequence.steps
    repetitions = _repetitions(steps)
    pairs = sum(repetitions)
    if not pairs:
        return None
    position = rng.choices(range(len(steps)), repetitions)[0]
    # there: one of the ordered pairs of equal steps; back: 1/(n-1) * 1/n
    ratio = math.log(pairs) - math.log((len(steps) - 1) * len(steps))
    return Proposal(sequence.with_steps(_without(steps, position)), ("deduplicate_step",), ratio)


def swap_steps(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Swap two steps."""
    steps = sequence.steps
    if len(steps) < 2:
        return None
    first, second = rng.sample(range(len(steps)), 2)
    swapped = _with(_with(steps, first, steps[second]), second, steps[first])
    return Proposal(sequence.with_steps(swapped), ("swap_steps",), 0.0)


def replace_step(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Put another step in the place of one."""
    steps, subject, distribution = sequence.steps, sequence.subject, context.distribution
    if not steps:
        return None
    position = rng.randrange(len(steps))
    rest = _without(steps, position)
    step = distribution.sample(rng, subject, rest)
    # there: 1/n * g(new | rest); back: 1/n * g(old | rest)
    ratio = distribution.log_density(steps[position], subject, rest)
    ratio -= distribution.log_density(step, subject, rest)
    return Proposal(sequence.with_steps(_with(steps, position, step)), ("replace_step",), ratio)


def splice_block(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Insert a block of steps that stands in the corpus."""
    steps, subject = sequence.steps, sequence.subject
    length = rng.choice(BLOCK_LENGTHS)
    if len(steps) + length > context.distribution.max_length:
        return None
    block = context.library.sample(rng, length, subject)
    if block is None:
        return None
    position = rng.randrange(len(steps) + 1)
    # there: 1/4 * 1/(n+1) * library(block); back: 1/4 * 1/(n+1)
    ratio = -context.library.log_density(block, subject)
    longer = (*steps[:position], *block, *steps[position:])
    return Proposal(sequence.with_steps(longer), ("splice_block",), ratio)


def cut_block(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Delete a block of steps; no way leads back unless the corpus has it."""
    steps = sequence.steps
    length = rng.choice(BLOCK_LENGTHS)
    if len(steps) <= length:
        return None
    position = rng.randrange(len(steps) - length + 1)
    block = steps[position : position + length]
    # there: 1/4 * 1/(n-length+1); back: 1/4 * 1/(n-length+1) * library(block)
    ratio = context.library.log_density(block, sequence.subject)
    rest = steps[:position] + steps[position + length :]
    return Proposal(sequence.with_steps(rest), ("cut_block",), ratio)


def change_operand(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Give one operand or size of a call another value: any other, so symmetric."""
    calls = list(sequence.calls())
    model = context.distribution.model(sequence.subject)
    if not calls or not model.live:
        return None
    position, call = rng.choice(calls)
    slots = list(slots_of(call))
    slot = rng.choice(model.live)
    count = len(model.slots[slot])
    slots[slot] = (slots[slot] + 1 + rng.randrange(count - 1)) % count
    steps = _with(sequence.steps, position, call_of(slots))
    return Proposal(sequence.with_steps(steps), ("change_operand",), 0.0)


CHANGE_SCOPES = ("value", "action", "target")


def redirect_change(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Turn a change into another of the same action, of the same target, or any: symmetric."""
    places = [number for number, step in enumerate(sequence.steps) if isinstance(step, Change)]
    if not places:
        return None
    position, scope = rng.choice(places), rng.choice(CHANGE_SCOPES)
    old = sequence.steps[position]
    assert isinstance(old, Change), f"{old} is no change"
    targets = context.distribution.model(sequence.subject).targets
    others = [
        change
        for target in (targets.values() if scope == "target" else (targets[old.target],))
        for change in changes_to(target)
        if change != old and (scope != "value" or change.action == old.action)
    ]
    if not others:
        return None
    steps = _with(sequence.steps, position, rng.choice(others))
    return Proposal(sequence.with_steps(steps), ("redirect_change",), 0.0)
