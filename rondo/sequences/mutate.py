"""Mutation: the register of moves, and drawing one.

The key insight: a move is an operator *and its inverse* under one weight. First the move is drawn,
then the direction by a coin; so the probability of the operator cancels in every Hastings ratio,
and a sampler may learn the weights without touching a single ratio.

Every mutation of a valid sequence is valid, within the vocabulary's limits and the distribution's
`max_length`, and every valid sequence can be reached from every other.
"""

from __future__ import annotations

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


def mutate(
    sequence: Sequence, rng: Random, context: MutationContext, *, count: int = 1
) -> Proposal:
    """Draw a move and a direction and apply it; `count` times, one upon the other.

    An operator that cannot be applied stays, and is not drawn again: how often that happens depends
    on the sequence. The way back stays at the same place with the same probability, so staying has
    ratio 1, and the log ratio of a whole path is the sum over its operators as long as `count` does
    not depend on the sequence.
    """
    weights = context.weights
    row = [move.weight if weights is None else weights[move.name] for move in MUTATORS]
    operators: tuple[str, ...] = ()
    log_ratio = 0.0
    for _ in range(count):
        move = rng.choices(MUTATORS, row)[0]
        proposal = rng.choice(move.operators)(sequence, rng, context)
        if proposal is not None:
            sequence = proposal.sequence
            operators += proposal.operators
            log_ratio += proposal.log_ratio
    return Proposal(sequence, operators, log_ratio)


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
            operators += proposal.operators
    return sequence, operators
