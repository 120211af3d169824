"""Mutations of the subject and of the compile options, each with the exact ratio of its path.

The key insight: a change that refers to a construct the subject lacks would wrap to another target,
and nothing could undo that. So a construct goes alone only when no step refers to it; otherwise it
goes, comes or turns into another *together with its steps*.

c is the number of constructs before the operator, M of those in the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random

from rondo.sequences.distribution import SEEDS, action_log_density, sample_action
from rondo.sequences.proposal import MutationContext, Proposal
from rondo.sequences.step import OPTION_CHOICES, Call, Change, Options, Sequence, Step
from rondo.sequences.vocabulary import ArchitectureSpec, TargetSpec

MOST_OWN_STEPS = 3
"""How many steps a construct may bring along."""


def _absent(sequence: Sequence, context: MutationContext) -> list[TargetSpec]:
    present = sequence.subject.constructs
    return [
        target
        for target in context.distribution.vocabulary.constructs
        if target.name not in present
    ]


def _room_for_construct(sequence: Sequence, context: MutationContext) -> bool:
    limit = context.distribution.vocabulary.limits["constructs"]
    return len(sequence.subject.constructs) < limit


def _with_constructs(
    sequence: Sequence, constructs: tuple[str, ...], steps: tuple[Step, ...] | None = None
) -> Sequence:
    subject = replace(sequence.subject, constructs=constructs)
    return Sequence(subject, sequence.options, sequence.steps if steps is None else steps)


def _referred(sequence: Sequence) -> list[str]:
    """Return the constructs that steps change."""
    targets = {step.target for step in sequence.steps if isinstance(step, Change)}
    return [name for name in sequence.subject.constructs if name in targets]


def _idle(sequence: Sequence) -> list[str]:
    """Return the constructs that no step changes."""
    referred = _referred(sequence)
    return [name for name in sequence.subject.constructs if name not in referred]


def add_construct(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Add a construct at any place among the others."""
    present, absent = sequence.subject.constructs, _absent(sequence, context)
    if not absent or not _room_for_construct(sequence, context):
        return None
    name, place = rng.choice(absent).name, rng.randrange(len(present) + 1)
    larger = _with_constructs(sequence, (*present[:place], name, *present[place:]))
    # there: 1/(M-c) * 1/(c+1); back: one of the idle constructs
    ratio = math.log(len(absent) * (len(present) + 1)) - math.log(len(_idle(larger)))
    return Proposal(larger, ("add_construct",), ratio)


def drop_construct(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Drop a construct that no step changes."""
    present, idle = sequence.subject.constructs, _idle(sequence)
    if not idle:
        return None
    name = rng.choice(idle)
    # there: one of the idle constructs; back: 1/(M-c+1) * 1/c
    absent = len(_absent(sequence, context)) + 1
    ratio = math.log(len(idle)) - math.log(absent * len(present))
    smaller = _with_constructs(sequence, tuple(other for other in present if other != name))
    return Proposal(smaller, ("drop_construct",), ratio)


def _bring_log_density(target: TargetSpec, own: list[Change], length: int) -> float:
    """Return the log-density of `own` as the steps that `target` brings to a sequence which then
    has `length` steps: how many, at which positions, which changes.
    """
    total = -math.log(MOST_OWN_STEPS) - math.log(math.comb(length, len(own)))
    return total + sum(action_log_density(target, change) for change in own)


def add_construct_with_steps(
    sequence: Sequence, rng: Random, context: MutationContext
) -> Proposal | None:
    """Add a construct and one to three changes to it, at any positions."""
    present, absent = sequence.subject.constructs, _absent(sequence, context)
    count = 1 + rng.randrange(MOST_OWN_STEPS)
    length = len(sequence.steps) + count
    if not absent or not _room_for_construct(sequence, context):
        return None
    target, place = rng.choice(absent), rng.randrange(len(present) + 1)
    if not target.actions or length > context.distribution.max_length:
        return None
    positions = set(rng.sample(range(length), count))
    own = [sample_action(rng, target) for _ in range(count)]
    old, new = iter(sequence.steps), iter(own)
    steps = tuple(next(new) if place in positions else next(old) for place in range(length))
    names = (*present[:place], target.name, *present[place:])
    larger = _with_constructs(sequence, names, steps)
    # there: 1/(M-c) * 1/(c+1) * steps; back: one of the constructs that steps change
    ratio = math.log(len(absent) * (len(present) + 1)) - math.log(len(_referred(larger)))
    ratio -= _bring_log_density(target, own, length)
    return Proposal(larger, ("add_construct_with_steps",), ratio)


def drop_construct_with_steps(
    sequence: Sequence, rng: Random, context: MutationContext
) -> Proposal | None:
    """Drop a construct and all changes to it."""
    present, referred = sequence.subject.constructs, _referred(sequence)
    if not referred:
        return None
    name = rng.choice(referred)
    own = [step for step in sequence.steps if isinstance(step, Change) and step.target == name]
    rest = tuple(
        step for step in sequence.steps if not isinstance(step, Change) or step.target != name
    )
    if not rest or len(own) > MOST_OWN_STEPS:
        return None
    # there: one of the constructs that steps change; back: 1/(M-c+1) * 1/c * steps
    target = context.distribution.vocabulary.targets_by_name[name]
    absent = len(_absent(sequence, context)) + 1
    ratio = math.log(len(referred)) - math.log(absent * len(present))
    ratio += _bring_log_density(target, own, len(sequence.steps))
    names = tuple(other for other in present if other != name)
    return Proposal(_with_constructs(sequence, names, rest), ("drop_construct_with_steps",), ratio)


def _turn_changes(
    steps: tuple[Step, ...], old: TargetSpec, new: TargetSpec, rng: Random
) -> tuple[tuple[Step, ...], float] | None:
    """Turn every change to `old` into a drawn one to `new`.

    Returns the steps and log q(back) - log q(there); None when `new` cannot be changed.
    """
    turned: list[Step] = []
    ratio = 0.0
    for step in steps:
        if not isinstance(step, Change) or step.target != old.name:
            turned.append(step)
            continue
        if not new.actions:
            return None
        drawn = sample_action(rng, new)
        turned.append(drawn)
        ratio += action_log_density(old, step) - action_log_density(new, drawn)
    return tuple(turned), ratio


def replace_construct(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Put another construct in the place of one; changes to it become changes to the other."""
    present, absent = sequence.subject.constructs, _absent(sequence, context)
    if not present or not absent:
        return None
    place, new = rng.randrange(len(present)), rng.choice(absent)
    old = context.distribution.vocabulary.targets_by_name[present[place]]
    turned = _turn_changes(sequence.steps, old, new, rng)
    if turned is None:
        return None
    # there and back: 1/c * 1/(M-c), times the drawn changes
    names = (*present[:place], new.name, *present[place + 1 :])
    return Proposal(_with_constructs(sequence, names, turned[0]), ("replace_construct",), turned[1])


def _shared_sizes(old: ArchitectureSpec, new: ArchitectureSpec) -> list[int | None]:
    """Return, for each dimension of `new`, which of `old` has its name and as many sizes."""
    places = {(d.name, len(d.sizes)): place for place, d in enumerate(old.schema.dimensions)}
    return [places.get((d.name, len(d.sizes))) for d in new.schema.dimensions]


def _redrawn_log_density(old: ArchitectureSpec, new: ArchitectureSpec) -> float:
    """Return the log-density of the sizes that one call draws on its way from `old` to `new`."""
    shared = zip(new.schema.dimensions, _shared_sizes(old, new), strict=True)
    return -sum(math.log(len(dimension.sizes)) for dimension, place in shared if place is None)


def _resize(old: ArchitectureSpec, new: ArchitectureSpec, rng: Random) -> Callable[[Step], Step]:
    """Return a function that keeps a call's sizes of shared dimensions and draws the others."""
    places = _shared_sizes(old, new)

    def resize(step: Step) -> Step:
        if not isinstance(step, Call):
            return step
        sizes = tuple(
            step.sizes[place] if place is not None else rng.randrange(len(dimension.sizes))
            for dimension, place in zip(new.schema.dimensions, places, strict=True)
        )
        return replace(step, sizes=sizes)

    return resize


def replace_architecture(
    sequence: Sequence, rng: Random, context: MutationContext
) -> Proposal | None:
    """Take another architecture; sizes of dimensions that it does not share are drawn again."""
    vocabulary = context.distribution.vocabulary
    old = vocabulary.architectures_by_name[sequence.subject.architecture]
    others = [other for other in vocabulary.architectures if other.name != old.name]
    if not others:
        return None
    new = rng.choice(others)
    turned = _turn_changes(sequence.steps, old.target, new.target, rng)
    if turned is None:
        return None
    steps = tuple(map(_resize(old, new, rng), turned[0]))
    # there and back: one of the other architectures, times the drawn changes and sizes
    calls = sum(isinstance(step, Call) for step in steps)
    ratio = turned[1]
    ratio += calls * (_redrawn_log_density(new, old) - _redrawn_log_density(old, new))
    subject = replace(sequence.subject, architecture=new.name)
    return Proposal(Sequence(subject, sequence.options, steps), ("replace_architecture",), ratio)


def change_seed(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Build the subject from another seed: any other, so symmetric."""
    seed = (sequence.subject.seed + 1 + rng.randrange(SEEDS - 1)) % SEEDS
    subject = replace(sequence.subject, seed=seed)
    return Proposal(replace(sequence, subject=subject), ("change_seed",), 0.0)


def _options(sequence: Sequence, context: MutationContext) -> dict[str, tuple[int, ...]]:
    """Return the options that have a choice, each with its values, the usual one first."""
    vocabulary = context.distribution.vocabulary
    tables = {
        "backend": context.backends if sequence.options.backend in context.backends else (),
        "mode": tuple(range(len(vocabulary.modes))),
        **{name: tuple(range(len(table))) for name, table in OPTION_CHOICES.items()},
    }
    return {name: table for name, table in tables.items() if len(table) > 1}


def _unusual(options: Options, tables: dict[str, tuple[int, ...]]) -> list[str]:
    return [name for name, table in tables.items() if getattr(options, name) != table[0]]


def _with_option(sequence: Sequence, name: str, value: int) -> Sequence:
    return replace(sequence, options=replace(sequence.options, **{name: value}))


def grow_options(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Take one compile option away from its usual value."""
    tables = _options(sequence, context)
    unusual = _unusual(sequence.options, tables)
    usual = [name for name in tables if name not in unusual]
    if not usual:
        return None
    name = rng.choice(usual)
    grown = _with_option(sequence, name, rng.choice(tables[name][1:]))
    # there: one of the usual options * 1/(values-1); back: one of the unusual options
    ratio = math.log(len(usual) * (len(tables[name]) - 1)) - math.log(len(unusual) + 1)
    return Proposal(grown, ("grow_options",), ratio)


def shrink_options(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
    """Put one compile option back to its usual value."""
    tables = _options(sequence, context)
    unusual = _unusual(sequence.options, tables)
    if not unusual:
        return None
    name = rng.choice(unusual)
    # there: one of the unusual options; back: one of the usual options * 1/(values-1)
    usual = len(tables) - len(unusual) + 1
    ratio = math.log(len(unusual)) - math.log(usual * (len(tables[name]) - 1))
    return Proposal(_with_option(sequence, name, tables[name][0]), ("shrink_options",), ratio)
