"""Blocks of steps that corpus sequences contain, to be spliced into others.

The key insight: a block is spliced only where it means exactly what it meant at home, so nothing
has to wrap and the density of every block is a count over a count. Blocks lie on shelves by what
they need of a subject (targets to change, the shape of a call's sizes); a subject's catalogue is
the shelves that it can serve.
"""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import TypeAlias

from rondo.sequences.step import Call, Change, Sequence, Step, SubjectSpec, targets_of
from rondo.sequences.vocabulary import Vocabulary

BLOCK_LENGTHS = (1, 2, 3, 4)

Block: TypeAlias = tuple[Step, ...]
Shape: TypeAlias = tuple[int, ...]
Needs: TypeAlias = tuple[Shape | None, frozenset[str]]


class _Shelf:
    """Blocks with equal needs: every occurrence to draw from, and how often each occurs."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.counts: Counter[Block] = Counter()


class BlockLibrary:
    """The n-grams of the corpus; a block is drawn in proportion to how often it occurs."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        # By length, then by one of the targets that are needed: a subject serves few of them, so
        # looking below these finds all that may fit without asking every shelf.
        self._shelves: dict[int, dict[str, dict[Needs, _Shelf]]] = {
            length: {} for length in BLOCK_LENGTHS
        }
        self._ambient = {target.name for target in vocabulary.ambient}

    def add(self, sequence: Sequence) -> None:
        """Add every block of `sequence`."""
        shape = self._shape(sequence.subject)
        for length in BLOCK_LENGTHS:
            for start in range(len(sequence.steps) - length + 1):
                block = sequence.steps[start : start + length]
                needs = _needs(block, shape)
                shelves = self._shelves[length].setdefault(self._aisle(needs[1]), {})
                shelf = shelves.setdefault(needs, _Shelf())
                shelf.blocks.append(block)
                shelf.counts[block] += 1

    def sample(self, rng: Random, length: int, subject: SubjectSpec) -> Block | None:
        """Return a block of `length` steps that fits `subject`; None when there is none."""
        shelves = self._catalogue(length, subject)
        if not shelves:
            return None
        shelf = rng.choices(shelves, [len(shelf.blocks) for shelf in shelves])[0]
        return rng.choice(shelf.blocks)

    def log_density(self, block: Block, subject: SubjectSpec) -> float:
        """Return the exact log-probability that `sample` of this length returns `block`."""
        shelves = self._catalogue(len(block), subject)
        occurrences = sum(shelf.counts[block] for shelf in shelves)
        if not occurrences:
            return -math.inf
        return math.log(occurrences / sum(len(shelf.blocks) for shelf in shelves))

    def _shape(self, subject: SubjectSpec) -> Shape:
        schema = self.vocabulary.architectures_by_name[subject.architecture].schema
        return tuple(len(dimension.sizes) for dimension in schema.dimensions)

    def _catalogue(self, length: int, subject: SubjectSpec) -> list[_Shelf]:
        shape = self._shape(subject)
        served = {target.name for target in targets_of(subject, self.vocabulary)}
        aisles = self._shelves[length]
        return [
            shelf
            for name in ("", *sorted(served & aisles.keys()))
            for (needed, targets), shelf in aisles.get(name, {}).items()
            if needed in (None, shape) and targets <= served
        ]

    def _aisle(self, targets: frozenset[str]) -> str:
        """Return the target that a block is looked for under, "" if it needs none: rather one of
        its own than an ambient one, which every subject serves.
        """
        return min(targets - self._ambient or targets, default="")


def _needs(block: Block, shape: Shape) -> Needs:
    calls = any(isinstance(step, Call) for step in block)
    targets = frozenset(step.target for step in block if isinstance(step, Change))
    return (shape if calls else None, targets)
