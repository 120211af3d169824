"""The baselines: the same sequences without guidance, and the same calls without history.

The key insight: a baseline must differ in one thing only. `random` proposes what the chains start
from and mutates with the same operators, but nothing that an execution shows comes back to it: not
even its own discoveries, since a corpus that grows by discoveries *is* guidance. `stateless` is
`random` with one call left of each sequence.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from random import Random
from typing import ClassVar

from rondo.search.corpus import Corpus, Entry
from rondo.search.sampler import Feedback, RecordingSampler, SearchState, on_backend
from rondo.sequences.blocks import BlockLibrary
from rondo.sequences.mutate import MutationContext, apply_havoc
from rondo.sequences.step import Sequence

FROM_SEEDS = 0.5
"""How often a sequence is a seed with mutations instead of a fresh one."""

MOST_MUTATIONS = 6


class Seeds:
    """The sequences that a corpus was loaded with, in the order of their names."""

    def __init__(self, corpus: Corpus) -> None:
        self.entries: list[Entry] = corpus.seeds

    def draw(self, rng: Random) -> Sequence:
        """Return one of them, each as likely. Raises IndexError when there is none."""
        return rng.choice(self.entries).sequence


class RandomSampler(RecordingSampler):
    """Fresh sequences, and seeds with one to six stacked mutations, half and half."""

    name: ClassVar[str] = "random"

    def __init__(
        self,
        state: SearchState,
        *,
        seed: int = 0,
        backends: tuple[int, ...] = (0,),
        tier_weights: Mapping[int, float] | None = None,
    ) -> None:
        super().__init__(state, seed=seed, backends=backends, tier_weights=tier_weights)
        self._seeds = Seeds(state.corpus)
        self._library = BlockLibrary(state.distribution.vocabulary)
        for entry in self._seeds.entries:
            self._library.add(entry.sequence)

    def propose(self) -> Sequence:
        """Return the next sequence; what was observed has no influence on it."""
        backend = self.tiers.draw(self.rng)
        distribution = self.state.distribution
        if not self._seeds.entries or self.rng.random() >= FROM_SEEDS:
            return distribution.sample_sequence(self.rng, backends=(backend,))
        seed = on_backend(self._seeds.draw(self.rng), backend)
        context = MutationContext(distribution, self._library, (backend,))
        count = 1 + self.rng.randrange(MOST_MUTATIONS)
        mutated, _ = apply_havoc(distribution.admit(seed, self.rng), self.rng, context, count)
        return distribution.admit(mutated, self.rng)

    def observe(
        self,
        sequence: Sequence,
        behaviours: Mapping[int, str],
        alarms: Iterable[Hashable] = (),
        *,
        work: float = 1.0,
    ) -> Feedback:
        """Count the execution; it is always accepted, and nothing follows from it."""
        identities = tuple(dict.fromkeys(alarms))
        new, novel_alarm = self.count(behaviours, identities)
        self.keep(sequence, behaviours, identities, new, work)
        return Feedback(True, new, novel_alarm)


class StatelessSampler(RandomSampler):
    """One call of each sequence that `random` would propose: same calls, no history."""

    name: ClassVar[str] = "stateless"

    def propose(self) -> Sequence:
        """Return a sequence of one call."""
        sequence = super().propose()
        _, call = self.rng.choice(list(sequence.calls()))
        return sequence.with_steps((call,))
