"""The guided sampler: Markov chains over sequences that dwell where behaviours are rare.

The target of a chain at temperature T, whose back end is fixed, is

    pi(s) proportional to p0(s) * exp(E(s) / T) / w(s)

    E(s) = sum over the behaviours b of s of log((n + 1) / (n_b + 1))
           - ALARM_COST * sum over the known alarms a of s of log(n_a)

with n executions in the whole campaign, of which n_b showed b and n_a raised a, p0 the
distribution that the `random` sampler draws from (`SequenceDistribution.log_prior`), and w(s) the
work that running s took. The density exp(E / T) is one *with respect to p0*, and has to be: with
respect to the counting measure, each further step multiplies the number of sequences by some
hundred thousand, so nearly all the mass would lie on the longest sequences whatever E says. Divided
by w it is *time*, not executions, that is shared out by p0 * exp(E / T): a chain that stands on s
spends w(s) there each time.

Metropolis-Hastings with a *surrogate* (Liu, *Monte Carlo Strategies in Scientific Computing*, 2001,
section 9.4.3; for one step it is the delayed acceptance of Christen and Fox, *Markov chain Monte
Carlo using an approximation*, 2005). What a sequence promises before it runs, discoveries for the
work (`forecast`), gives a surrogate target that costs nothing to ask:

    pi*(s) proportional to p0(s) * h(s),    h = promise to the power of SHARPNESS

From s, walk WALK steps on paper, each an ordinary Metropolis-Hastings step for pi* whose proposal
is q(y | x), taken with probability

    min(1, h(y) / h(x) * p0(y) / p0(x) * q(x | y) / q(y | x))

Run where the walk ends, s', and move there with probability

    min(1, r),    r = exp((E(s') - E(s)) / T) * w(s) / w(s') * h(s) / h(s')

The walk is reversible with respect to pi*, and r is pi / pi* of s' by that of s, so the chain keeps
pi whatever h is, good or bad, learned or not: a bad h costs executions. A step on paper takes a
thousandth of an execution, so the walk may be long, and goes to where much is promised as far as
the reference measure lets it. `Proposal.log_ratio` is the last factor, exact for the path that the
operator took, paired with the path of its inverse, which makes detailed balance hold path by path.
A step that cannot be made, leads out of the support of p0 or changes nothing stays; a walk that
ends where it began leaves the chain where it is and costs no execution.

What is exact and what adapts: the kernel of every single step leaves the target *of that step*
alone. Three things change between steps, each by less and less: counts (the n-th execution moves a
rarity by about 1 / n_b), the mix of moves (see `mix`), and the library of blocks (one entry among
many). A restart begins a new chain; nothing is claimed across it. A chain is left as a forager
leaves a patch, when it yields less than starting elsewhere does (Charnov, *Optimal foraging, the
marginal value theorem*, 1976).

Beside the chains, a part of the turns goes through a list of changes until it is done (`sweep`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rondo.search.forecast import ALARM_WORTH, Forecast
from rondo.search.mix import ProposalMix
from rondo.search.sampler import Feedback, RecordingSampler, SearchState, on_backend
from rondo.search.starts import LOOKED_AT, Starts
from rondo.search.sweep import Sweep, Task
from rondo.search.tiers import LearnedTiers
from rondo.search.yields import Yields
from rondo.sequences.distribution import draw
from rondo.sequences.mutate import MutationContext, mutate
from rondo.sequences.step import Sequence

TEMPERATURE = 2.0
CHAINS = 3
"""Chains on each back end; more come when all of them wait for an execution."""

PATIENCE = 8
"""A chain restarts after so many executions without anything new, or half of it without a move."""

LEAST_STAY = 1
"""Executions that a chain gets before it may be left for yielding too little."""

STAY_FADE = 0.6
"""How much of a chain's record is left after another of its executions."""

SHARPNESS = 8.0
"""How far walks are drawn to what promises much: h is the promise to this power."""

WALK = 64
"""Steps on paper for each execution. On `bench/ablation.py` half as many find it a little later."""

SWEPT, CHAINED = "sweep", "chains"
TURNS = (SWEPT, CHAINED)
"""Whose turn it is on a back end: each gets what it has yielded for its work."""

CLIMB = 0.5
"""How often a back end's turn goes to a sequence that showed something new on the one before."""

CLIMBERS = 64
"""So many sequences wait to climb to a back end; the oldest go when there are more."""

ALARM_COST = 2.0
"""How fast the weight of sequences with a known alarm falls: with its sightings to this power."""

STACK = (0.3, 0.25, 0.15, 0.1, 0.1, 0.1)
"""How often a proposal is made of one, two ... mutations, whatever the sequence is."""

MOST_IDLE_WALKS = 30
"""A chain whose walks all end where they began restarts after so many."""


@dataclass(frozen=True, slots=True)
class ChainState:
    """Where a chain is: a sequence, what it shows, its prior weight, and the work it takes."""

    sequence: Sequence
    behaviours: tuple[int, ...]
    alarms: tuple[Hashable, ...]
    log_prior: float
    work: float = 1.0


@dataclass(slots=True)
class Chain:
    """One chain on one back end; `state` is None until a first execution puts it somewhere.

    `moves` counts walks of the chain, also those that needed no execution, `fruitless` the
    executions since it last showed something new, `stuck` those since it last moved. `found` and
    `spent` are its discoveries and work, both fading; `way` is how it was started, until the first
    execution has shown what that was worth.
    """

    backend: int
    state: ChainState | None = None
    pending: bool = False
    moves: int = 0
    fruitless: int = 0
    stuck: int = 0
    executions: int = 0
    found: float = 0.0
    spent: float = 0.0
    way: str = ""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A proposal on its way; `operators` are none for the first sequence after a restart.

    `log_gain` is the logarithm of h(s') / h(s), as the walk weighed them; `task` is what the sweep
    made a sequence of, which is no chain's and ends with its execution.
    """

    chain: Chain
    operators: tuple[str, ...]
    log_prior: float
    log_gain: float = 0.0
    task: Task | None = None


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
        sharpness: float = SHARPNESS,
        walk: int = WALK,
        looked_at: int = LOOKED_AT,
        sweep_share: float | None = None,
        weigh_work: bool = True,
    ) -> None:
        """Make a sampler.

        `patience` None never restarts, `learn` False keeps the first mix, `sharpness` 0 makes every
        promise equal for the walks and `looked_at` 1 for the starts, `sweep_share` fixes the share
        of turns that go through the list of changes, else learned, `walk` is how many steps on
        paper a chain takes between two executions, and without `weigh_work` all executions count
        alike. `tier_weights` fixes the shares of back ends, else learned.
        """
        super().__init__(state, seed=seed, backends=backends, tier_weights=tier_weights)
        if not temperature > 0:
            raise ValueError(f"the temperature must be positive, not {temperature}")
        if walk < 1:
            raise ValueError(f"a walk takes a step or more, not {walk}")
        self.learned_tiers = LearnedTiers(backends) if tier_weights is None else None
        self.tiers = self.learned_tiers or self.tiers
        self.temperature = temperature
        self.patience = patience
        self.learn = learn
        self.stack = stack
        self.sharpness = sharpness
        self.walk = walk
        self.weigh_work = weigh_work
        self.mix = ProposalMix()
        self.forecast = Forecast(backends)
        self.starts = Starts(state, self.forecast, looked_at=looked_at)
        self.sweep = Sweep(state)
        self.sweep_share = sweep_share
        self.turn_yields = {backend: Yields(TURNS) for backend in backends}
        self.chains = {backend: [Chain(backend) for _ in range(chains)] for backend in backends}
        self.restarts = 0
        self._turns = dict.fromkeys(backends, 0)
        self._pending: dict[Sequence, deque[_Pending]] = {}
        self._climbers: dict[int, list[Sequence]] = {backend: [] for backend in backends}

    # ---------------------------------------------------------------------------------- proposing

    def propose(self) -> Sequence:
        """Let the next chain of a drawn back end propose."""
        backend = self.tiers.draw(self.rng)
        proposal = self._sweep(backend)
        if proposal is None:
            chain = self._next_chain(backend)
            proposal = self._climb(chain) or self._advance(chain)
        sequence, pending = proposal
        pending.chain.pending = True
        self._pending.setdefault(sequence, deque()).append(pending)
        return sequence

    def _sweep(self, backend: int) -> tuple[Sequence, _Pending] | None:
        """Return the next of the list of changes, maybe. Chains start from what it leaves."""
        share = self.sweep_share
        if share is None:
            share = self.turn_yields[backend].frequencies[SWEPT]
        if self.rng.random() >= share:
            return None
        drawn = self.sweep.draw(self.rng, backend)
        if drawn is None:
            return None
        task, sequence = drawn
        return sequence, _Pending(Chain(backend), (), 0.0, task=task)  # nobody weighs it

    def _climb(self, chain: Chain) -> tuple[Sequence, _Pending] | None:
        """Start `chain` anew on a sequence that showed something on the back end before, maybe.

        Of those that wait the one goes that promises most for its work there: what was new on a
        cheap back end can take a minute on a dear one.
        """
        waiting = self._climbers[chain.backend]
        if not waiting or self.rng.random() >= CLIMB:
            return None
        self._leave(chain, way="")
        sequence = self.forecast.best(waiting)
        waiting.remove(sequence)
        # Caches on disk are worth more there than where it comes from.
        drawn = self.state.distribution.sample_options(self.rng, backends=(chain.backend,))
        sequence = replace(sequence, options=replace(sequence.options, cache=drawn.cache))
        return sequence, self._first(chain, sequence)

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
        for _ in range(MOST_IDLE_WALKS):
            reached, pending = self._walk(chain, chain.state, context)
            chain.moves += 1
            if reached != chain.state.sequence:
                return reached, pending
        fresh = self._draw(chain)
        self._leave(chain, way="")
        return fresh, self._first(chain, fresh)

    def _walk(
        self, chain: Chain, state: ChainState, context: MutationContext
    ) -> tuple[Sequence, _Pending]:
        """Take `chain` from `state` through `walk` steps of the surrogate; return where it ends."""
        here, prior, promise = state.sequence, state.log_prior, self._promise(state.sequence)
        stood = promise
        moved: list[str] = []
        for _ in range(self.walk):
            proposal = mutate(here, self.rng, context, count=1 + draw(self.rng, self.stack))
            if proposal.log_ratio == -math.inf or proposal.sequence == here:
                continue
            there = self.state.distribution.log_prior(proposal.sequence)
            if there == -math.inf:
                continue
            promised = self._promise(proposal.sequence)
            ratio = promised - promise + there - prior + proposal.log_ratio
            if ratio >= 0 or self.rng.random() < math.exp(ratio):
                here, prior, promise = proposal.sequence, there, promised
                moved += proposal.operators
        return here, _Pending(chain, tuple(moved), prior, promise - stood)

    def _first(self, chain: Chain, sequence: Sequence) -> _Pending:
        return _Pending(chain, (), self.state.distribution.log_prior(sequence))

    def _promise(self, sequence: Sequence) -> float:
        """Return log h of `sequence`."""
        return self.sharpness * self.forecast.log_value(sequence) if self.sharpness else 0.0

    def _context(self, chain: Chain) -> MutationContext:
        weights = self.mix.weights if self.learn else None
        state = self.state
        return MutationContext(state.distribution, state.library, (chain.backend,), weights)

    # ----------------------------------------------------------------------------------- restarts

    def _is_stale(self, chain: Chain) -> bool:
        """Tell whether `chain` should be left: it found nothing for long, or too little."""
        if self.patience is None:
            return False
        if chain.fruitless >= self.patience or chain.stuck >= self.patience / 2:
            return True
        if chain.executions < LEAST_STAY:
            return False
        return chain.found / chain.spent < self.starts.rate

    def _leave(self, chain: Chain, *, way: str) -> None:
        """Forget what `chain` did; it was started in this way."""
        self.restarts += 1
        chain.fruitless = chain.stuck = chain.executions = 0
        chain.found = chain.spent = 0.0
        chain.way = way

    def _start(self, chain: Chain) -> Sequence | ChainState:
        """Return where a chain starts: a state when what it shows is known, else a sequence."""
        way, start = self.starts.draw(self.rng, chain.backend)
        self._leave(chain, way=way)
        if isinstance(start, Sequence):
            return start
        distribution = self.state.distribution
        sequence = on_backend(distribution.admit(start.sequence, self.rng), chain.backend)
        if start.shown is None or sequence != start.sequence:
            return sequence
        prior = distribution.log_prior(sequence)
        return ChainState(sequence, tuple(start.shown), (), prior, start.work)

    def _draw(self, chain: Chain) -> Sequence:
        return self.starts.fresh(self.rng, chain.backend)

    # ---------------------------------------------------------------------------------- observing

    def energy(self, state: ChainState) -> float:
        """Return E of a state under the counts of this moment."""
        known = math.fsum(math.log(max(1, self.state.alarms[alarm])) for alarm in state.alarms)
        return self.state.ledger.energy(state.behaviours) - ALARM_COST * known

    def log_acceptance(self, old: ChainState, new: ChainState, log_gain: float) -> float:
        """Return the logarithm of the acceptance ratio r from `old` to `new`, before the min.

        `log_gain` is log h(new) - log h(old).
        """
        gain = (self.energy(new) - self.energy(old)) / self.temperature
        if self.weigh_work:
            gain -= math.log(new.work / old.work)
        return gain - log_gain

    def observe(
        self,
        sequence: Sequence,
        behaviours: Mapping[int, str],
        alarms: Iterable[Hashable] = (),
        *,
        work: float = 1.0,
    ) -> Feedback:
        """Count the execution, then accept or reject it for the chain that proposed it.

        Both energies are taken after counting, so that a behaviour seen for the first time and one
        that the chain stands on are weighed by the same rule.
        """
        identities = tuple(dict.fromkeys(alarms))
        work = work if self.weigh_work else 1.0
        new, novel_alarm = self.count(behaviours, identities)
        found = len(new) + ALARM_WORTH * novel_alarm
        accepted: bool | None = None
        climbs = bool(new) and not identities
        waiting = self._pending.get(sequence)
        if waiting:
            pending = waiting.popleft()
            if not waiting:
                del self._pending[sequence]
            self.turn_yields[pending.chain.backend].note(
                CHAINED if pending.task is None else SWEPT, found, work
            )
            if pending.task is None:
                shown = tuple(sorted(behaviours))
                reached = ChainState(sequence, shown, identities, pending.log_prior, work)
                accepted = self._settle(pending, reached, found)
            else:
                climbs = climbs and not self._is_listed_above(pending.task, pending.chain.backend)
                if identities:
                    self.sweep.split(pending.task, pending.chain.backend)
        self._learn(sequence, found, work, climbs=climbs)
        self.keep(sequence, behaviours, identities, new, work)
        return Feedback(accepted, new, novel_alarm)

    def _is_listed_above(self, task: Task, backend: int) -> bool:
        """Whether the next back end up meets what the task was about in a sweep of its own."""
        above = [each for each in self.tiers.backends if each > backend]
        return bool(above) and self.sweep.lists(task.target, min(above))

    def _settle(self, pending: _Pending, reached: ChainState, found: float) -> bool:
        """Decide a proposal and keep the books of its chain; return whether it was accepted."""
        chain = pending.chain
        chain.pending = False
        accepted = True
        if chain.state is not None and pending.operators:
            log_ratio = self.log_acceptance(chain.state, reached, pending.log_gain)
            accepted = self.rng.random() < math.exp(min(0.0, log_ratio))
            self.mix.observe(pending.operators, found=found, work=reached.work)
        if accepted:
            chain.state = reached
        chain.stuck = 0 if accepted else chain.stuck + 1
        chain.fruitless = 0 if found else chain.fruitless + 1
        chain.executions += 1
        chain.found = STAY_FADE * chain.found + found
        chain.spent = STAY_FADE * chain.spent + reached.work
        if chain.way:
            self.starts.yields.note(chain.way, found, reached.work)
            chain.way = ""
        return accepted

    def _learn(self, sequence: Sequence, found: float, work: float, *, climbs: bool) -> None:
        """Let forecasts and tiers learn; what showed something new waits to climb."""
        backend = sequence.options.backend
        self.forecast.learn(sequence, found, work)
        if self.learned_tiers is not None and backend in self.learned_tiers.backends:
            self.learned_tiers.note(backend, found, work)
        above = [each for each in self.tiers.backends if each > backend]
        if climbs and above:
            next_one = min(above)
            waiting = self._climbers[next_one]
            waiting.append(on_backend(sequence, next_one))
            del waiting[:-CLIMBERS]

    def note_lines(self, sequence: Sequence, count: int) -> None:
        """Credit the parts of `sequence` with lines that no execution had reached."""
        self.forecast.reward_lines(sequence, count)
