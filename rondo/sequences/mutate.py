"""Mutation: the register of moves, and drawing one.

The key insight: a move is an operator *and its inverse* under one weight. First the move is drawn,
then the direction by a coin; so the probability of the operator cancels in every Hastings ratio,
and a sampler may learn the weights without touching a single ratio.

Every mutation of a valid sequence is valid, within the vocabulary's limits and the distribution's
`max_length`, and every valid sequence can be reached from every other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence as Many
from dataclasses import dataclass
from random import Random

from rondo.sequences import mutate_steps as steps
from rondo.sequences import mutate_subject as subject
from rondo.sequences.proposal import MutationContext, Operator, Proposal
from rondo.sequences.step import Sequence

__all__ = [
    "MUTATORS",
    "Move",
    "MutationContext",
    "Proposal",
    "apply_havoc",
    "move_of",
    "mutate",
]


@dataclass(frozen=True, slots=True)
class Move:
    """An operator and the one that takes it back, tried in proportion to `weight`.

    `backward` is None when the operator takes itself back.
    """

    forward: Operator
    backward: Operator | None
    weight: float

    @property
    def name(self) -> str:
        """The name of the move: that of its forward operator."""
        return self.forward.__name__

    @property
    def operators(self) -> tuple[Operator, ...]:
        """One or two operators."""
        return (self.forward,) if self.backward is None else (self.forward, self.backward)


MUTATORS: tuple[Move, ...] = (
    Move(steps.insert_step, steps.delete_step, 4.0),
    Move(steps.duplicate_step, steps.deduplicate_step, 2.0),
    Move(steps.splice_block, steps.cut_block, 2.0),
    Move(steps.swap_steps, None, 1.0),
    Move(steps.replace_step, None, 2.0),
    Move(steps.change_operand, None, 4.0),
    Move(steps.redirect_change, None, 2.0),
    Move(subject.add_construct, subject.drop_construct, 1.0),
    Move(subject.add_construct_with_steps, subject.drop_construct_with_steps, 1.0),
    Move(subject.replace_construct, None, 1.0),
    Move(subject.replace_architecture, None, 0.5),
    Move(subject.change_seed, None, 0.1),
    Move(subject.grow_options, subject.shrink_options, 1.0),
)
"""All moves, with the weights that they have before anything is learned."""

_MOVES_BY_OPERATOR = {
    operator.__name__: move.name for move in MUTATORS for operator in move.operators
}


def move_of(operator: str) -> str:
    """Return the name of the move that the operator called `operator` belongs to."""
    return _MOVES_BY_OPERATOR[operator]


def mutate(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal:
    """Draw a move, a direction, and apply it once.

    An operator that cannot be applied proposes the sequence itself with a ratio of -inf. It is not
    drawn again: how often that happens depends on the sequence, and the ratios would be wrong.
    """
    weights = context.weights
    row = [move.weight if weights is None else weights[move.name] for move in MUTATORS]
    move = rng.choices(MUTATORS, row)[0]
    operator = rng.choice(move.operators)
    proposal = operator(sequence, rng, context)
    return proposal or Proposal(sequence, operator.__name__, -math.inf)


def apply_havoc(
    sequence: Sequence, rng: Random, context: MutationContext, count: int
) -> tuple[Sequence, Many[str]]:
    """Stack `count` mutations that change something; return the result and the operators.

    Ratios are ignored: this is for fuzzers that have no chain. Some move always applies (a seed can
    always change), so the loop ends.
    """
    operators: list[str] = []
    while len(operators) < count:
        proposal = mutate(sequence, rng, context)
        if proposal.sequence != sequence:
            sequence = proposal.sequence
            operators.append(proposal.operator)
    return sequence, operators
