"""What a sampler is, and what all of them do alike: record what executions show.

The key insight: samplers differ in what they propose and in nothing else. Behaviours, alarms and
the corpus are recorded here once, so that a comparison of samplers compares guidance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar, Protocol

from rondo.search.behaviour import BehaviourLedger
from rondo.search.corpus import Corpus
from rondo.search.tiers import TierSchedule
from rondo.sequences.blocks import BlockLibrary
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary

MAX_LENGTH = 24
"""The longest sequence that samplers propose, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What an execution meant: whether a chain moved there, and the behaviours never seen before.

    `accepted` is None where no chain had proposed it, and there was nothing to decide.
    `novel_alarm` tells that one of its alarms was the first of its identity.
    """

    accepted: bool | None
    new: frozenset[int]
    novel_alarm: bool = False


class Sampler(Protocol):
    """Proposes sequences and learns from what they show.

    Every proposal is observed once, when it has run; several may be on their way at a time. A
    sequence that was not proposed, such as a seed of the corpus, may be observed as well. One that
    killed its worker is observed with no behaviours and the crash as its alarm.
    """

    name: ClassVar[str]
    tiers: TierSchedule

    def propose(self) -> Sequence:
        """Return the sequence to execute next."""

    def observe(
        self,
        sequence: Sequence,
        behaviours: Mapping[int, str],
        alarms: Iterable[Hashable] = (),
        *,
        work: float = 1.0,
    ) -> Feedback:
        """Learn that `sequence` showed `behaviours` (labels by hash) and raised `alarms`.

        `work` is what the execution took, counted and not timed (`Result.work`). `alarms` are
        identities: whatever is equal counts as the same alarm. Raises CorpusError when the corpus
        cannot be written; everything is recorded all the same.
        """

    def note_lines(self, sequence: Sequence, count: int) -> None:
        """Learn that the last execution, of `sequence`, was the first to reach `count` lines."""


@dataclass(slots=True)
class SearchState:
    """What a campaign knows: shared by its sampler and whoever reports on it."""

    distribution: SequenceDistribution
    corpus: Corpus
    ledger: BehaviourLedger
    library: BlockLibrary
    alarms: Counter[Hashable]

    @classmethod
    def begin(
        cls,
        vocabulary: Vocabulary,
        corpus: Corpus,
        *,
        ledger: BehaviourLedger | None = None,
        max_length: int = MAX_LENGTH,
    ) -> SearchState:
        """Return the state at the start of a campaign, with blocks from the corpus."""
        library = BlockLibrary(vocabulary)
        # Seeds come before what is found, in the order of their names, wherever a campaign goes on.
        found = [entry for entry in corpus.in_order() if not entry.seed]
        for entry in [*corpus.seeds, *found][-library.latest :]:
            library.add(entry.sequence)
        distribution = SequenceDistribution(vocabulary, max_length=max_length)
        known = BehaviourLedger() if ledger is None else ledger
        return cls(distribution, corpus, known, library, Counter())


class RecordingSampler:
    """Base of all samplers: a seeded random source, a schedule of tiers, and recording."""

    def __init__(
        self,
        state: SearchState,
        *,
        seed: int = 0,
        backends: tuple[int, ...] = (0,),
        tier_weights: Mapping[int, float] | None = None,
    ) -> None:
        self.state = state
        self.rng = Random(seed)
        self.tiers = TierSchedule(backends, tier_weights)

    def count(
        self, behaviours: Mapping[int, str], alarms: tuple[Hashable, ...]
    ) -> tuple[frozenset[int], bool]:
        """Count an execution; return its new behaviours, and whether one of its alarms is new."""
        new = self.state.ledger.record(behaviours)
        novel_alarm = any(self.state.alarms[alarm] == 0 for alarm in alarms)
        self.state.alarms.update(alarms)
        return new, novel_alarm

    def keep(
        self,
        sequence: Sequence,
        behaviours: Mapping[int, str],
        alarms: tuple[Hashable, ...],
        new: frozenset[int],
        work: float = 1.0,
    ) -> None:
        """Let a sequence with new behaviours join the corpus, unless it raised an alarm.

        With an alarm it is a finding, and all its descendants would raise the same one again. Call
        this last: it raises CorpusError when the disk refuses.
        """
        corpus = self.state.corpus
        if alarms:
            corpus.note(sequence, first=(), shown=None, work=work)
            return
        try:
            if new and corpus.add(sequence):
                self.state.library.add(sequence)
        finally:
            corpus.note(sequence, first=new, shown=behaviours, work=work)

    def note_lines(self, sequence: Sequence, count: int) -> None:
        """Learn nothing: only guided samplers look at lines."""


def on_backend(sequence: Sequence, backend: int) -> Sequence:
    """Return `sequence` compiled by another back end."""
    return replace(sequence, options=replace(sequence.options, backend=backend))
