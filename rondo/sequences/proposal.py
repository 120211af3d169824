"""What a mutation returns and what it needs: the vocabulary shared by all operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from rondo.sequences.blocks import BlockLibrary
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.step import Sequence


@dataclass(frozen=True, slots=True)
class Proposal:
    """A mutated sequence and what it takes to accept it.

    `log_ratio` is log q(old | new) - log q(new | old), the Hastings correction of the path that
    `operators` took, paired with the one path by which their inverses lead back. It is -inf when no
    path leads back: a chain must not accept, everybody else may. Without operators the proposal is
    to stay.
    """

    sequence: Sequence
    operators: tuple[str, ...]
    log_ratio: float


@dataclass(frozen=True, slots=True)
class MutationContext:
    """What mutations draw from.

    `backends` are the back ends that options may name. `weights` says how often each move is tried
    (None: as `MUTATORS` says).
    """

    distribution: SequenceDistribution
    library: BlockLibrary
    backends: tuple[int, ...] = (0,)
    weights: Mapping[str, float] | None = None


Operator: TypeAlias = Callable[[Sequence, Random, MutationContext], Proposal | None]
"""Returns None when it cannot be applied to the sequence at all."""
