"""The guided sampler: Markov chains over sequences that dwell where behaviours are rare.

The target of a chain at temperature T, whose back end is fixed, is

    pi(s) proportional to p0(s) * exp(E(s) / T)

    E(s) = sum over the behaviours b of s of log((n + 1) / (n_b + 1))
           - ALARM_COST * sum over the known alarms a of s of log(n_a)

with n executions in the whole campaign, of which n_b showed b and n_a raised a, and p0 the
distribution that the `random` sampler draws from (`SequenceDistribution.log_prior`). The density
exp(E / T) is one *with respect to p0*, and has to be: with respect to the counting measure, each
further step multiplies the number of sequences by some hundred thousand, so nearly all the mass
would lie on the longest sequences whatever E says. At infinite T the chain samples from p0.

Metropolis-Hastings: from s, draw s' from the proposal q(s' | s) and move there with probability

    min(1, exp((E(s') - E(s)) / T) * p0(s') / p0(s) * q(s | s') / q(s' | s))

The last factor is `Proposal.log_ratio`. It is exact for the path that the operator took, paired
with the path of its inverse, which makes detailed balance hold path by path. A proposal that cannot
be made, leads out of the support of p0 or changes nothing leaves the chain where it is and costs
no execution; everything else is executed, even when it will hardly be accepted, because
an execution tests the compiler whether or not the chain moves.

What is exact and what adapts: the kernel of every single step leaves the target *of that step*
alone. Three things change between steps, each by less and less: counts (the n-th execution moves a
rarity by about 1 / n_b), the mix of moves (see `mix`), and the library of blocks (one entry among
many). A restart begins a new chain; nothing is claimed across it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from rondo.search.mix import ProposalMix
from rondo.search.sampler import Feedback, RecordingSampler, SearchState, on_backend
from rondo.sequences.distribution import draw
from rondo.sequences.mutate import MutationContext, Proposal, mutate
from rondo.sequences.step import Sequence

TEMPERATURE = 2.0
CHAINS = 3
"""Chains on each back end; more come when all of them wait for an execution."""

PATIENCE = 8
"""A chain restarts after so many executions without anything new, or half of it without a move."""

RESTART_FROM_CORPUS = 0.3
"""How often a restart takes an entry of the corpus; otherwise it draws a fresh sequence."""

ALARM_COST = 2.0
"""How fast the weight of sequences with a known alarm falls: with its sightings to this power."""

STACK = (0.3, 0.25, 0.15, 0.1, 0.1, 0.1)
"""How often a proposal is made of one, two ... mutations, whatever the sequence is."""

MOST_IDLE_MOVES = 1000
"""A chain that cannot propose anything new in so many moves restarts."""


@dataclass(frozen=True, slots=True)
class ChainState:
    """Where a chain is: a sequence, what it shows, and its prior weight."""

    sequence: Sequence
    behaviours: tuple[int, ...]
    alarms: tuple[Hashable, ...]
    log_prior: float


@dataclass(slots=True)
class Chain:
    """One chain on one back end; `state` is None until a first execution puts it somewhere.

    `moves` counts steps of the chain, also those that needed no execution, `fruitless` the
    executions since it last showed something new, `stuck` those since it last moved.
    """

    backend: int
    state: ChainState | None = None
    pending: bool = False
    moves: int = 0
    fruitless: int = 0
    stuck: int = 0


@dataclass(frozen=True, slots=True)
class _Pending:
    """A proposal on its way; `operators` are none for the first sequence after a restart."""

    chain: Chain
    operators: tuple[str, ...]
    log_ratio: float
    log_prior: float


class MarkovSampler(RecordingSampler):
    """Metropolis-Hastings with several chains, a learned mix of moves, and restarts."""

    name: ClassVar[str] = "mcmc"

    def __init__(
        self,
        state: SearchState,
        *,
        seed: int = 0,
        backends: tuple[int, ...] = (0,),
        tier_weights: Mapping[int, float] | None = None,
        temperature: float = TEMPERATURE,
        chains: int = CHAINS,
        patience: int | None = PATIENCE,
        learn: bool = True,
        stack: tuple[float, ...] = STACK,
    ) -> None:
        """Make a sampler; `patience` None never restarts, `learn` False keeps the first mix."""
        super().__init__(state, seed=seed, backends=backends, tier_weights=tier_weights)
        if not temperature > 0:
            raise ValueError(f"the temperature must be positive, not {temperature}")
        self.temperature = temperature
        self.patience = patience
        self.learn = learn
        self.stack = stack
        self.mix = ProposalMix()
        self.chains = {backend: [Chain(backend) for _ in range(chains)] for backend in backends}
        self.restarts = 0
        self._turns = dict.fromkeys(backends, 0)
        self._pending: dict[Sequence, deque[_Pending]] = {}

    # ---------------------------------------------------------------------------------- proposing

    def propose(self) -> Sequence:
        """Let the next chain of a drawn back end propose."""
        chain = self._next_chain(self.tiers.draw(self.rng))
        sequence, pending = self._advance(chain)
        chain.pending = True
        self._pending.setdefault(sequence, deque()).append(pending)
        return sequence

    def _next_chain(self, backend: int) -> Chain:
        """Return the chain whose turn it is among those that wait for nothing."""
        chains = self.chains[backend]
        for _ in chains:
            chain = chains[self._turns[backend] % len(chains)]
            self._turns[backend] += 1
            if not chain.pending:
                return chain
        chains.append(Chain(backend))
        return chains[-1]

    def _advance(self, chain: Chain) -> tuple[Sequence, _Pending]:
        """Move `chain` until it needs an execution; return what to execute."""
        if chain.state is None or self._is_stale(chain):
            start = self._start(chain)
            if isinstance(start, Sequence):
                return start, self._first(chain, start)
            chain.state = start
        context = self._context(chain)
        for _ in range(MOST_IDLE_MOVES):
            count = 1 + draw(self.rng, self.stack)
            proposal = mutate(chain.state.sequence, self.rng, context, count=count)
            chain.moves += 1
            prior = self._weigh(proposal, chain.state)
            if prior > -math.inf:
                pending = _Pending(chain, proposal.operators, proposal.log_ratio, prior)
                return proposal.sequence, pending
        self.restarts += 1
        fresh = self._draw(chain)
        return fresh, self._first(chain, fresh)

    def _first(self, chain: Chain, sequence: Sequence) -> _Pending:
        return _Pending(chain, (), 0.0, self.state.distribution.log_prior(sequence))

    def _weigh(self, proposal: Proposal, state: ChainState) -> float:
        """Return the log-prior of a proposal, -inf when the chain stays where it is anyway."""
        if proposal.log_ratio == -math.inf or proposal.sequence == state.sequence:
            return -math.inf
        return self.state.distribution.log_prior(proposal.sequence)

    def _context(self, chain: Chain) -> MutationContext:
        weights = self.mix.weights if self.learn else None
        state = self.state
        return MutationContext(state.distribution, state.library, (chain.backend,), weights)

    # ----------------------------------------------------------------------------------- restarts

    def _is_stale(self, chain: Chain) -> bool:
        if self.patience is None:
            return False
        return chain.fruitless >= self.patience or chain.stuck >= self.patience / 2

    def _start(self, chain: Chain) -> Sequence | ChainState:
        """Return where a chain starts: a state when what it shows is known, else a sequence."""
        self.restarts += 1
        chain.fruitless = chain.stuck = 0
        corpus, rng = self.state.corpus, self.rng
        if not len(corpus) or rng.random() >= RESTART_FROM_CORPUS:
            return self._draw(chain)
        entry = corpus.select(rng, self.state.ledger)
        distribution = self.state.distribution
        sequence = on_backend(distribution.admit(entry.sequence, rng), chain.backend)
        if entry.shown is None or sequence != entry.sequence:
            return sequence
        return ChainState(
            sequence, tuple(sorted(entry.shown)), (), distribution.log_prior(sequence)
        )

    def _draw(self, chain: Chain) -> Sequence:
        return self.state.distribution.sample_sequence(self.rng, backends=(chain.backend,))

    # ---------------------------------------------------------------------------------- observing

    def energy(self, state: ChainState) -> float:
        """Return E of a state under the counts of this moment."""
        known = math.fsum(math.log(max(1, self.state.alarms[alarm])) for alarm in state.alarms)
        return self.state.ledger.energy(state.behaviours) - ALARM_COST * known

    def log_acceptance(self, old: ChainState, new: ChainState, log_ratio: float) -> float:
        """Return the logarithm of the acceptance ratio from `old` to `new`, before the min."""
        gain = (self.energy(new) - self.energy(old)) / self.temperature
        return gain + new.log_prior - old.log_prior + log_ratio

    def observe(
        self,
        sequence: Sequence,
        behaviours: Mapping[int, str],
        alarms: Iterable[Hashable] = (),
    ) -> Feedback:
        """Count the execution, then accept or reject it for the chain that proposed it.

        Both energies are taken after counting, so that a behaviour seen for the first time and one
        that the chain stands on are weighed by the same rule.
        """
        identities = tuple(dict.fromkeys(alarms))
        new, novel_alarm = self.count(behaviours, identities)
        accepted = False
        waiting = self._pending.get(sequence)
        if waiting:
            pending = waiting.popleft()
            if not waiting:
                del self._pending[sequence]
            reached = ChainState(sequence, tuple(sorted(behaviours)), identities, pending.log_prior)
            accepted = self._settle(pending, reached, paid=bool(new) or novel_alarm)
        self.keep(sequence, behaviours, identities, new)
        return Feedback(accepted, new, novel_alarm)

    def _settle(self, pending: _Pending, reached: ChainState, *, paid: bool) -> bool:
        """Decide a proposal and keep the books of its chain; return whether it was accepted."""
        chain = pending.chain
        chain.pending = False
        accepted = True
        if chain.state is not None and pending.operators:
            log_ratio = self.log_acceptance(chain.state, reached, pending.log_ratio)
            accepted = self.rng.random() < math.exp(min(0.0, log_ratio))
            self.mix.observe(pending.operators, paid=paid)
        if accepted:
            chain.state = reached
        chain.stuck = 0 if accepted else chain.stuck + 1
        chain.fruitless = 0 if paid else chain.fruitless + 1
        return accepted
