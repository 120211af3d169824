"""The chain visits sequences as often as its target says, and is guided by what is rare."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from rondo._native.behaviour import hash64
from rondo.errors import CorpusError
from rondo.oracle.result import Identity
from rondo.search import mcmc
from rondo.search.behaviour import BehaviourLedger
from rondo.search.corpus import Corpus
from rondo.search.mcmc import ALARM_COST, Chain, ChainState, MarkovSampler
from rondo.search.sampler import Feedback, SearchState, on_backend
from rondo.sequences.codec import encode
from rondo.sequences.mutate import MutationContext, Proposal, mutate
from rondo.sequences.step import Call, Change, Sequence
from rondo.sequences.vocabulary import Vocabulary
from tests import toys

chained = partial(MarkovSampler, sweep_share=0.0)
"""What is said of chains here is said of chains alone."""


def behaviours_of(sequence: Sequence) -> dict[int, str]:
    """A pretended compiler: what it shows depends on neighbouring steps."""
    labels = {sequence.subject.architecture, f"fullgraph {sequence.options.fullgraph}"}
    labels |= {f"construct {name}" for name in sequence.subject.constructs}
    for first, second in zip(sequence.steps, sequence.steps[1:], strict=False):
        if isinstance(first, Change) and isinstance(second, Call):
            labels.add(f"{first} then dtype {second.dtype}")
        elif isinstance(first, Call) and isinstance(second, Call):
            labels.add(f"{first.grad} {first.dtype} then {second.grad} {second.dtype}")
    return {hash64(label): label for label in labels}


def run(sampler: MarkovSampler, count: int) -> list[tuple[Sequence, Feedback]]:
    found = []
    for _ in range(count):
        sequence = sampler.propose()
        found.append((sequence, sampler.observe(sequence, behaviours_of(sequence))))
    return found


# -------------------------------------------------------------------------------------- the target

SMALL = Vocabulary(
    framework="small",
    architectures=(toys.architecture("a", {"batch": 1}, 1),),
    constructs=(toys.target("k", 2),),
    ambient=(toys.target("program", 2),),
    backends=("only",),
    limits={"constructs": 1, "steps": 2},
)


class FixedLedger(BehaviourLedger):
    """Energies that are a function of the sequence and of nothing else."""

    def record(self, behaviours: Mapping[int, str]) -> frozenset[int]:
        return frozenset()

    def energy(self, behaviours: Iterable[int]) -> float:
        return sum(3.0 * (behaviour % 1000) / 1000 for behaviour in behaviours)


def fingerprint(sequence: Sequence) -> int:
    """What a sequence is, but for its seed."""
    seedless = replace(sequence, subject=replace(sequence.subject, seed=0))
    return hash64(encode(seedless))


def distance_to_target(monkeypatch: pytest.MonkeyPatch, moves: int) -> tuple[float, int]:
    """Run one chain; return the total variation distance of its visits, and the states there are.

    The seed of the subject has no influence on anything, so it is summed out.
    """
    toys.make_choices_tiny(monkeypatch)
    monkeypatch.setitem(toys.CALL_CHOICES, "grad", ("grad",))
    monkeypatch.setitem(toys.OPTION_CHOICES, "dynamic", ("auto", "true"))
    state = SearchState.begin(SMALL, Corpus(None, SMALL), ledger=FixedLedger(), max_length=2)
    rng = Random(0)
    for _ in range(6):
        state.library.add(state.distribution.sample_sequence(rng, 2))
    sampler = chained(
        state, seed=5, temperature=1.5, chains=1, patience=None, learn=False, walk=3, sharpness=2.0
    )
    target = {
        fingerprint(s): math.exp(
            state.distribution.log_prior(s) + state.ledger.energy([fingerprint(s)]) / 1.5
        )
        for s in toys.enumerate_sequences(state.distribution)
    }
    total = math.fsum(target.values())
    (chain,) = sampler.chains[0]
    visits: dict[int, int] = defaultdict(int)
    while chain.moves < moves:
        before, stood = chain.moves, chain.state
        sequence = sampler.propose()
        if stood is not None:
            visits[fingerprint(stood.sequence)] += chain.moves - before - 1
        sampler.observe(sequence, {fingerprint(sequence): ""})
        assert chain.state is not None
        visits[fingerprint(chain.state.sequence)] += 1
    assert visits.keys() <= target.keys()
    count = sum(visits.values())
    apart = sum(abs(visits[s] / count - weight / total) for s, weight in target.items()) / 2
    return apart, len(target)


@pytest.mark.slow
def test_the_chain_visits_sequences_as_often_as_its_target_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    apart, states = distance_to_target(monkeypatch, 100_000)
    assert states > 50
    assert apart < 0.03


@pytest.mark.slow
def test_without_the_hastings_correction_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def uncorrected(
        sequence: Sequence, rng: Random, context: MutationContext, *, count: int
    ) -> Proposal:
        proposal = mutate(sequence, rng, context, count=count)
        return replace(proposal, log_ratio=0.0 if proposal.log_ratio > -math.inf else -math.inf)

    monkeypatch.setattr(mcmc, "mutate", uncorrected)
    apart, _ = distance_to_target(monkeypatch, 10_000)
    assert apart > 0.1


# -------------------------------------------------------------------------------------- behaviour


def test_equal_seeds_make_equal_campaigns(state: SearchState) -> None:
    vocabulary = state.distribution.vocabulary
    other = SearchState.begin(vocabulary, Corpus(None, vocabulary))
    one = MarkovSampler(state, seed=7, backends=(0, 1, 2))
    two = MarkovSampler(other, seed=7, backends=(0, 1, 2))
    assert run(one, 150) == run(two, 150)
    assert one.mix.weights == two.mix.weights
    assert [e.data for e in state.corpus] == [e.data for e in other.corpus]
    third = SearchState.begin(vocabulary, Corpus(None, vocabulary))
    assert run(MarkovSampler(third, seed=8, backends=(0, 1, 2)), 20) != run(two, 20)


def test_proposals_have_a_prior_weight_and_an_allowed_back_end(state: SearchState) -> None:
    weights = {0: 1.0, 2: 1.0}
    sampler = MarkovSampler(state, seed=1, backends=(0, 2), tier_weights=weights, looked_at=4)
    found = run(sampler, 400)
    assert {sequence.options.backend for sequence, _ in found} == {0, 2}
    assert all(math.isfinite(state.distribution.log_prior(sequence)) for sequence, _ in found)
    assert 0.1 < sum(bool(feedback.accepted) for _, feedback in found) / 400 < 1


def test_what_is_new_joins_the_corpus_and_the_blocks(state: SearchState) -> None:
    sampler = chained(state, seed=1)
    found = run(sampler, 200)
    first = [sequence for sequence, feedback in found if feedback.new]
    assert {entry.sequence for entry in state.corpus} == set(first)
    assert sum(len(feedback.new) for _, feedback in found) == len(state.ledger)
    state.corpus.check_invariants()
    blocks = [s for s in first if len(s.steps) > 1]
    assert state.library.log_density(blocks[0].steps[:2], blocks[0].subject) > -math.inf


@pytest.mark.parametrize("seed", range(3))
def test_a_cold_chain_dwells_where_behaviours_are_rare(seed: int) -> None:
    vocabulary = toys.toy_vocabulary()
    dwelt = {}
    for temperature in (0.5, 1e9):
        state = SearchState.begin(vocabulary, Corpus(None, vocabulary))
        sampler = chained(state, seed=seed, temperature=temperature, patience=None, looked_at=1)
        energies = []
        for _ in range(150):
            run(sampler, 1)
            places = [chain.state for chain in sampler.chains[0] if chain.state is not None]
            energies += [sampler.energy(place) for place in places]
        dwelt[temperature] = sum(energies) / len(energies)
    assert dwelt[0.5] > 2 * dwelt[1e9]


def test_the_acceptance_ratio_is_the_one_in_the_docstring(state: SearchState) -> None:
    sampler = chained(state, temperature=4.0)
    for n in range(10):
        state.ledger.record({1: "always", **({2: "rare"} if n == 0 else {})})
    state.alarms["known"] = 8
    call = state.distribution.sample_sequence(Random(0), 1)
    old = ChainState(call, (1,), (), -20.0)
    new = ChainState(call, (1, 2), ("known", "novel"), -23.0)
    expected = (math.log(11 / 2) - ALARM_COST * math.log(8)) / 4.0 - 0.25
    assert sampler.log_acceptance(old, new, 0.25) == pytest.approx(expected)
    assert sampler.log_acceptance(new, old, -0.25) == pytest.approx(-expected)


def test_a_known_alarm_weighs_less_each_time(state: SearchState) -> None:
    sampler = chained(state)
    sequence = state.distribution.sample_sequence(Random(0))
    alarm = Identity("stateful", "value", "eager", "output", "counter.action0")
    place = ChainState(sequence, (), (alarm,), 0.0)
    energies, feedback = [], []
    for _ in range(5):
        feedback.append(sampler.observe(sequence, {}, [alarm, alarm]))
        energies.append(sampler.energy(place))
    assert energies[0] == 0.0
    assert energies == sorted(energies, reverse=True)
    assert energies[4] == pytest.approx(-ALARM_COST * math.log(5))
    assert [f.novel_alarm for f in feedback] == [True, False, False, False, False]


def test_a_sequence_with_an_alarm_is_no_parent(state: SearchState) -> None:
    sampler = chained(state)
    sequence = sampler.propose()
    feedback = sampler.observe(sequence, {1: "one"}, ["alarm"])
    assert feedback == Feedback(True, frozenset({1}), True)
    assert len(state.corpus) == 0
    assert state.ledger.labels == {1: "one"}


def test_a_chain_that_finds_nothing_restarts(
    state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = chained(state, chains=1, patience=10)
    monkeypatch.setattr(sampler.starts.yields, "rate", lambda way: 0.0)
    for _ in range(100):
        sampler.observe(sampler.propose(), {1: "always the same"})
    assert 8 <= sampler.restarts <= 20
    patient = chained(state, chains=1, patience=None)
    for _ in range(100):
        patient.observe(patient.propose(), {1: "always the same"})
    assert patient.restarts == 1


def test_a_chain_is_left_once_it_yields_less_than_starting_does(state: SearchState) -> None:
    sampler = chained(state, chains=1)
    numbers = iter(range(10**6))

    def show(count: int) -> int:
        """Run one more, which shows so many new things; return how often it was started anew."""
        shown = {next(numbers): "new" for _ in range(count)}
        sampler.observe(sampler.propose(), shown)
        return sampler.restarts

    started = show(1000)
    assert show(1000) == started, "more than any start has given"
    assert show(0) == started
    for _ in range(12):
        show(0)
    assert sampler.restarts > started, "what it gave fades"


def test_a_chain_that_does_not_move_restarts(
    state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = chained(state, chains=1, patience=10)
    monkeypatch.setattr(sampler, "log_acceptance", lambda old, new, ratio: -math.inf)
    monkeypatch.setattr(sampler.starts.yields, "rate", lambda way: 0.0)
    accepted = [
        sampler.observe(sampler.propose(), {n: f"always new {n}"}).accepted for n in range(50)
    ]
    assert accepted[:6] == [True, False, False, False, False, False]
    assert sampler.restarts > 5


def test_a_restart_from_a_known_entry_needs_no_execution(
    state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = state.distribution.sample_sequence(Random(3), 5)
    sampler = chained(state, backends=(0, 1), tier_weights={0: 1.0, 1: 0.0})
    assert sampler.observe(seed, {4: "four"}) == Feedback(None, frozenset({4}))
    monkeypatch.setattr(
        sampler.starts, "draw", lambda rng, backend: ("corpus", next(iter(state.corpus)))
    )
    assert sampler.propose() != seed
    (chain,) = (chain for chain in sampler.chains[0] if chain.state is not None)
    assert chain.state is not None
    assert chain.state.sequence == seed
    assert chain.state.behaviours == (4,)
    sampler.tiers.weights = {0: 0.0, 1: 1.0}
    sampler._climbers[1].clear()
    assert sampler.propose() == on_backend(seed, 1), "elsewhere it may show other things"


def test_what_promises_most_for_its_work_climbs_first(
    state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = chained(state, backends=(0, 1), tier_weights={0: 0.0, 1: 1.0})
    monkeypatch.setattr(mcmc, "CLIMB", 1.0)
    shown = [state.distribution.sample_sequence(Random(n), 5) for n in range(9)]
    for number, sequence in enumerate(shown):
        sampler.observe(sequence, {number: "new"})
    promised = {sequence.steps: 9 - n for n, sequence in enumerate(shown)}
    monkeypatch.setattr(sampler.forecast, "log_value", lambda sequence: promised[sequence.steps])
    climbed = [sampler.propose() for _ in shown]
    assert [sequence.steps for sequence in climbed] == [sequence.steps for sequence in shown]
    assert {sequence.options.backend for sequence in climbed} == {1}
    assert not sampler._climbers[1]


def test_a_chain_that_can_only_stay_starts_again(
    state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = chained(state, chains=1, patience=None)
    first = sampler.propose()
    sampler.observe(first, {})

    def stay(sequence: Sequence, rng: Random, context: object, *, count: int) -> Proposal:
        return Proposal(sequence, (), 0.0)

    monkeypatch.setattr(mcmc, "mutate", stay)
    second = sampler.propose()
    assert second != first
    assert sampler.observe(second, {}).accepted
    assert sampler.restarts == 2


def test_irreversible_proposals_are_not_executed(
    state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = chained(state, chains=1, walk=2)
    monkeypatch.setattr(sampler.starts.yields, "rate", lambda way: 0.0)
    sampler.observe(sampler.propose(), {})
    (chain,) = sampler.chains[0]
    dead = state.distribution.sample_sequence(Random(8))
    alive = state.distribution.sample_sequence(Random(9))
    proposals = iter([Proposal(dead, ("cut_block",), -math.inf), Proposal(alive, (), 0.0)])
    monkeypatch.setattr(mcmc, "mutate", lambda *args, **options: next(proposals))
    monkeypatch.setattr(sampler, "_promise", lambda sequence: 1e3 * (sequence == alive))
    assert sampler.propose() == alive
    assert chain.moves == 1


def test_many_proposals_may_be_on_their_way(state: SearchState) -> None:
    sampler = chained(state, seed=2, chains=2)
    waiting = [sampler.propose() for _ in range(5)]
    assert len(sampler.chains[0]) == 5, "a chain waits for one execution at a time"
    assert all(chain.pending for chain in sampler.chains[0])
    for sequence in reversed(waiting):
        assert sampler.observe(sequence, behaviours_of(sequence)).accepted
    assert not any(chain.pending for chain in sampler.chains[0])
    assert [chain.moves for chain in sampler.chains[0]] == [0] * 5


def test_equal_proposals_of_two_chains_are_observed_one_by_one(
    state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = chained(state, chains=2)
    same = state.distribution.sample_sequence(Random(0))
    monkeypatch.setattr(sampler.starts, "draw", lambda rng, backend: ("fresh", same))
    assert sampler.propose() == sampler.propose() == same
    assert sampler.observe(same, {1: ""}) == Feedback(True, frozenset({1}))
    assert [chain.pending for chain in sampler.chains[0]] == [False, True]
    assert sampler.observe(same, {1: ""}) == Feedback(True, frozenset())
    assert sampler.observe(same, {1: ""}) == Feedback(None, frozenset()), "nobody proposed it"


def test_an_unwritable_corpus_is_reported_after_the_chain_has_moved(
    state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = chained(state, chains=1)
    sequence = sampler.propose()

    def refuse(entry: Sequence) -> bool:
        raise CorpusError("cannot write corpus file x: No space left on device")

    monkeypatch.setattr(state.corpus, "add", refuse)
    with pytest.raises(CorpusError, match="No space left"):
        sampler.observe(sequence, {1: "one"})
    (chain,) = sampler.chains[0]
    assert chain.state is not None
    assert not chain.pending
    assert 1 in state.ledger.counts


def test_the_temperature_must_be_positive(state: SearchState) -> None:
    with pytest.raises(ValueError, match="must be positive, not 0"):
        MarkovSampler(state, temperature=0)


def test_a_chain_starts_nowhere() -> None:
    assert Chain(1) == Chain(1, state=None, pending=False, moves=0, fruitless=0, stuck=0)
