"""Blocks of steps that corpus sequences contain, to be spliced into others.

The key insight: a block is spliced only where it means exactly what it meant at home, so nothing
has to wrap and the density of every block is a count over a count. Blocks lie on shelves by what
they need of a subject (targets to change, the shape of a call's sizes); a subject's catalogue is
the shelves that it can serve. Blocks take several times the room of what they are cut from, so only
those of the latest sequences are there: a library does not grow for as long as a campaign runs.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator
from operator import attrgetter
from random import Random
from typing import TypeAlias

from rondo.sequences.step import Call, Change, Sequence, Step, SubjectSpec, targets_of
from rondo.sequences.vocabulary import Vocabulary

BLOCK_LENGTHS = (1, 2, 3, 4)

LATEST = 2048
"""The sequences whose blocks are there: about 10 MB of blocks."""

Block: TypeAlias = tuple[Step, ...]
Shape: TypeAlias = tuple[int, ...]
Needs: TypeAlias = tuple[Shape | None, frozenset[str]]


class _Shelf:
    """Blocks with equal needs: every occurrence to draw from, and how often each occurs.

    `rank` is where it stands among shelves, whatever was added first.
    """

    def __init__(self, needs: Needs) -> None:
        self.rank = (sorted(needs[1]), needs[0] or ())
        self.blocks: deque[Block] = deque()
        self.counts: Counter[Block] = Counter()

    def put(self, block: Block) -> None:
        """Add an occurrence of `block`."""
        self.blocks.append(block)
        self.counts[block] += 1

    def take_oldest(self) -> None:
        """Take away the occurrence that was put here first."""
        block = self.blocks.popleft()
        self.counts[block] -= 1
        if not self.counts[block]:
            del self.counts[block]


class BlockLibrary:
    """The n-grams of the `latest` sequences; one is drawn in proportion to how often it occurs.

    What it says follows from those sequences and their order alone, whatever was there before.
    """

    def __init__(self, vocabulary: Vocabulary, *, latest: int = LATEST) -> None:
        self.vocabulary = vocabulary
        self.latest = latest
        self._held: deque[tuple[Shape, tuple[Step, ...]]] = deque()
        # By length, then by one of the targets that are needed: a subject serves few of them, so
        # looking below these finds all that may fit without asking every shelf.
        self._shelves: dict[int, dict[str, dict[Needs, _Shelf]]] = {
            length: {} for length in BLOCK_LENGTHS
        }
        self._ambient = {target.name for target in vocabulary.ambient}

    def add(self, sequence: Sequence) -> None:
        """Add every block of `sequence`; the oldest sequence goes when there are too many."""
        shape = self._shape(sequence.subject)
        self._held.append((shape, sequence.steps))
        for needs, block in _blocks(shape, sequence.steps):
            aisle = self._shelves[len(block)].setdefault(self._aisle(needs[1]), {})
            shelf = aisle.get(needs)
            if shelf is None:
                shelf = aisle[needs] = _Shelf(needs)
            shelf.put(block)
        if len(self._held) > self.latest:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        # A shelf gets its blocks in the order of the sequences, so the oldest ones lie in front.
        for needs, block in _blocks(*self._held.popleft()):
            aisle = self._shelves[len(block)][self._aisle(needs[1])]
            aisle[needs].take_oldest()
            if not aisle[needs].blocks:
                del aisle[needs]

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
        fitting = [
            shelf
            for name in ("", *(served & aisles.keys()))
            for (needed, targets), shelf in aisles.get(name, {}).items()
            if needed in (None, shape) and targets <= served
        ]
        fitting.sort(key=attrgetter("rank"))
        return fitting

    def _aisle(self, targets: frozenset[str]) -> str:
        """Return the target that a block is looked for under, "" if it needs none: rather one of
        its own than an ambient one, which every subject serves.
        """
        return min(targets - self._ambient or targets, default="")


def _blocks(shape: Shape, steps: tuple[Step, ...]) -> Iterator[tuple[Needs, Block]]:
    """Yield every block of `steps`, always in the same order, with what it needs."""
    for length in BLOCK_LENGTHS:
        for start in range(len(steps) - length + 1):
            block = steps[start : start + length]
            yield _needs(block, shape), block


def _needs(block: Block, shape: Shape) -> Needs:
    calls = any(isinstance(step, Call) for step in block)
    targets = frozenset(step.target for step in block if isinstance(step, Change))
    return (shape if calls else None, targets)
