"""Mutations stay valid, and their Hastings corrections are right.

The corrections are checked exactly: `toys.outcomes` lists every path of an operator with its
probability, so the kernel of a Metropolis-Hastings step between two sequences is a finite sum, and
detailed balance an equation between two numbers. One wrong factor anywhere breaks it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.sequences import mutate_subject
from rondo.sequences.blocks import BlockLibrary
from rondo.sequences.codec import decode, encode
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.mutate import MUTATORS, Move, MutationContext, apply_havoc, move_of, mutate
from rondo.sequences.proposal import Operator, Proposal
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from tests import toys

TOY = toys.toy_vocabulary()
OPERATORS = {operator.__name__: operator for move in MUTATORS for operator in move.operators}
INVERSES = {
    operator.__name__: inverse.__name__
    for move in MUTATORS
    for operator, inverse in zip(move.operators, reversed(move.operators), strict=True)
}


def context_of(
    distribution: SequenceDistribution, *, seed: int = 3, backends: tuple[int, ...] = (0, 1)
) -> MutationContext:
    """A context whose library holds the blocks of a dozen sampled sequences."""
    rng, library = Random(seed), BlockLibrary(distribution.vocabulary)
    for _ in range(12):
        library.add(distribution.sample_sequence(rng))
    return MutationContext(distribution, library, backends)


TOY_CONTEXT = context_of(SequenceDistribution(TOY, max_length=20), backends=(0, 1, 2))

# ------------------------------------------------------------------------------------ validity


@pytest.mark.parametrize("name", OPERATORS)
@given(sequence=toys.sequences(TOY), seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_a_mutation_of_a_valid_sequence_is_valid(name: str, sequence: Sequence, seed: int) -> None:
    proposal = OPERATORS[name](sequence, Random(seed), TOY_CONTEXT)
    if proposal is None:
        return
    mutated = proposal.sequence
    assert normalise(mutated, TOY) == mutated
    assert decode(encode(mutated), TOY) == mutated
    assert proposal.operators == (name,)
    assert not math.isnan(proposal.log_ratio)
    assert proposal.log_ratio < math.inf
    assert len(mutated.steps) <= max(20, len(sequence.steps))
    assert len(mutated.subject.constructs) <= TOY.limits["constructs"]
    assert mutated.options.backend in (0, 1, 2)


@given(toys.sequences(TOY), st.integers(0, 2**32), st.integers(1, 8))
def test_havoc_changes_that_often_and_stays_valid(
    sequence: Sequence, seed: int, count: int
) -> None:
    mutated, operators = apply_havoc(sequence, Random(seed), TOY_CONTEXT, count)
    assert normalise(mutated, TOY) == mutated
    assert len(operators) == count
    assert set(operators) <= set(OPERATORS)
    assert apply_havoc(sequence, Random(seed), TOY_CONTEXT, count) == (mutated, operators)


def test_every_operator_is_drawn_and_most_sequences_change() -> None:
    rng, seen, changed = Random(0), set(), 0
    for _ in range(3000):
        sequence = TOY_CONTEXT.distribution.sample_sequence(rng)
        proposal = mutate(sequence, rng, TOY_CONTEXT)
        seen.update(proposal.operators)
        changed += proposal.sequence != sequence
    assert seen == set(OPERATORS)
    assert changed > 2000


def test_weights_decide_which_moves_are_drawn() -> None:
    weights = {move.name: float(move.name == "swap_steps") for move in MUTATORS}
    context = MutationContext(TOY_CONTEXT.distribution, TOY_CONTEXT.library, (0,), weights)
    sequence = TOY_CONTEXT.distribution.sample_sequence(Random(0), 6)
    proposal = mutate(sequence, Random(0), context, count=4)
    assert proposal.operators == ("swap_steps",) * 4
    assert sorted(map(repr, proposal.sequence.steps)) == sorted(map(repr, sequence.steps))


def test_every_operator_belongs_to_one_move() -> None:
    assert move_of("cut_block") == "splice_block"
    assert move_of("swap_steps") == "swap_steps"
    assert len(OPERATORS) == sum(len(move.operators) for move in MUTATORS)
    with pytest.raises(KeyError):
        move_of("no such operator")


# ----------------------------------------------------------------------------- what cannot be done

ONE_CALL = Sequence(SubjectSpec("lstm"), Options(), (Call(sizes=(0, 0)),))
EMPTY = ONE_CALL.with_steps(())
FULL = ONE_CALL.with_steps(ONE_CALL.steps * 20)
CROWDED = Sequence(SubjectSpec("lstm", ("factor", "counter", "cache", "hook")), Options(), ())
STRANGE = Sequence(SubjectSpec("mlp"), Options(1, 1, 1, 1, 1), ())
MANY_OWN = Sequence(SubjectSpec("mlp", ("hook",)), Options(), (Change("hook"),) * 4 + (Call(),))


@pytest.mark.parametrize(
    ("name", "sequence"),
    [
        ("insert_step", FULL),
        ("delete_step", ONE_CALL),
        ("duplicate_step", FULL),
        ("duplicate_step", EMPTY),
        ("deduplicate_step", ONE_CALL),
        ("swap_steps", ONE_CALL),
        ("replace_step", EMPTY),
        ("splice_block", FULL),
        ("cut_block", ONE_CALL),
        ("change_operand", EMPTY),
        ("redirect_change", ONE_CALL),
        ("add_construct", CROWDED),
        ("drop_construct", ONE_CALL),
        ("add_construct_with_steps", CROWDED),
        ("add_construct_with_steps", FULL),
        ("drop_construct_with_steps", ONE_CALL),
        ("drop_construct_with_steps", MANY_OWN),
        ("replace_construct", ONE_CALL),
        ("grow_options", STRANGE),
        ("shrink_options", ONE_CALL),
    ],
)
def test_operators_decline_what_they_cannot_do(name: str, sequence: Sequence) -> None:
    context = MutationContext(TOY_CONTEXT.distribution, TOY_CONTEXT.library, (0, 1))
    for seed in range(20):
        assert OPERATORS[name](sequence, Random(seed), context) is None


def test_what_declines_stays_with_ratio_zero() -> None:
    weights = {move.name: float(move.name == "replace_construct") for move in MUTATORS}
    context = MutationContext(TOY_CONTEXT.distribution, TOY_CONTEXT.library, (0,), weights)
    assert mutate(ONE_CALL, Random(0), context, count=3) == Proposal(ONE_CALL, (), 0.0)


def test_cutting_a_block_that_the_corpus_lacks_cannot_be_undone() -> None:
    context = MutationContext(TOY_CONTEXT.distribution, BlockLibrary(TOY))
    ratios = {
        proposal.log_ratio
        for proposal, _ in toys.outcomes(lambda rng: OPERATORS["cut_block"](FULL, rng, context))
        if proposal is not None
    }
    assert ratios == {-math.inf}


def test_a_back_end_that_is_not_allowed_is_left_alone() -> None:
    context = MutationContext(TOY_CONTEXT.distribution, TOY_CONTEXT.library, (1, 2))
    for name in ("grow_options", "shrink_options"):
        for seed in range(30):
            proposal = OPERATORS[name](ONE_CALL, Random(seed), context)
            assert proposal is None or proposal.sequence.options.backend == 0


def test_steps_follow_their_construct_to_another_one() -> None:
    steps = (Change("factor", 0, 3), Call(sizes=(0,)), Change("mlp", 0, 1))
    sequence = Sequence(SubjectSpec("mlp", ("factor",)), Options(), steps)
    turned = [
        proposal.sequence
        for proposal, _ in toys.outcomes(
            lambda rng: mutate_subject.replace_construct(sequence, rng, TOY_CONTEXT)
        )
        if proposal is not None
    ]
    assert {s.subject.constructs for s in turned} == {("counter",), ("cache",), ("hook",)}
    for s in turned:
        (name,) = s.subject.constructs
        assert isinstance(s.steps[0], Change)
        assert s.steps[0].target == name
        assert s.steps[1:] == steps[1:]


def test_another_architecture_keeps_the_sizes_of_shared_dimensions() -> None:
    sequence = Sequence(SubjectSpec("mlp"), Options(), (Call(sizes=(4,)), Change("program")))
    seen = set()
    for seed in range(60):
        proposal = mutate_subject.replace_architecture(sequence, Random(seed), TOY_CONTEXT)
        assert proposal is not None
        call, change = proposal.sequence.steps
        assert change == Change("program")
        assert isinstance(call, Call)
        seen.add((proposal.sequence.subject.architecture, *call.sizes))
    assert {s for s in seen if s[0] == "lstm"} == {("lstm", 4, n) for n in range(4)}
    assert {s for s in seen if s[0] == "cnn"} == {("cnn", b, w) for b in range(4) for w in range(3)}


def test_a_lone_architecture_stays() -> None:
    alone = SequenceDistribution(TOY.restricted(architectures=frozenset({"lstm"})))
    context = MutationContext(alone, BlockLibrary(alone.vocabulary))
    assert mutate_subject.replace_architecture(ONE_CALL, Random(0), context) is None


# ------------------------------------------------------------------------------------ correctness


class Kernel:
    """Exact Metropolis-Hastings kernel of one move towards an arbitrary target."""

    def __init__(self, context: MutationContext, operators: tuple[Operator, ...]) -> None:
        self.context = context
        self.operators = operators
        self.log_target = cache(self._log_target)
        self.flows = cache(self._flows)

    def _log_target(self, sequence: Sequence) -> float:
        bump = Random(encode(sequence).hex()).uniform(0.0, 3.0)
        return self.context.distribution.log_prior(sequence) + bump

    def _flows(self, sequence: Sequence) -> dict[Sequence, float]:
        """The probability of moving from `sequence` to each other one."""
        found: dict[Sequence, float] = defaultdict(float)
        for operator in self.operators:
            for proposal, probability in toys.outcomes(
                lambda rng, operator=operator: operator(sequence, rng, self.context)
            ):
                if proposal is None or self.log_target(proposal.sequence) == -math.inf:
                    continue
                gain = self.log_target(proposal.sequence) - self.log_target(sequence)
                accepted = math.exp(min(0.0, gain + proposal.log_ratio))
                found[proposal.sequence] += probability * accepted / len(self.operators)
        found.pop(sequence, None)
        return found

    def worst_imbalance(self, starts: list[Sequence], rng: Random, most: int) -> tuple[float, int]:
        """The largest relative difference between a flow and the flow back; how many were seen."""
        worst, pairs = 0.0, 0
        for start in starts:
            flows = [(s, flow) for s, flow in self.flows(start).items() if flow]
            for other, there in rng.sample(flows, min(most, len(flows))):
                gain = self.log_target(other) - self.log_target(start)
                back = self.flows(other).get(start, 0.0) * math.exp(gain)
                worst, pairs = max(worst, abs(there - back) / there), pairs + 1
        return worst, pairs


@pytest.fixture
def tiny_context(tiny: SequenceDistribution) -> MutationContext:
    return context_of(SequenceDistribution(tiny.vocabulary, max_length=3))


@pytest.mark.parametrize("move", MUTATORS, ids=lambda move: move.name)
def test_every_move_is_in_detailed_balance(move: Move, tiny_context: MutationContext) -> None:
    rng = Random(1)
    starts = [tiny_context.distribution.sample_sequence(rng) for _ in range(30)]
    if move.name in ("deduplicate_step", "duplicate_step"):
        starts = [s.with_steps((s.steps[-1],) * min(2, len(s.steps))) for s in starts]
    kernel = Kernel(tiny_context, move.operators)
    worst, pairs = kernel.worst_imbalance(starts, rng, most=8)
    assert pairs >= 10
    assert worst < 1e-9


def test_stacked_moves_are_in_detailed_balance(tiny_context: MutationContext) -> None:
    chosen = ("add_construct", "duplicate_step", "grow_options")
    weights = {move.name: float(move.name in chosen) for move in MUTATORS}
    small = SequenceDistribution(
        tiny_context.distribution.vocabulary.restricted(
            architectures=frozenset({"a"}), constructs=frozenset({"k", "m"})
        ),
        max_length=2,
    )
    context = MutationContext(small, BlockLibrary(small.vocabulary), (0,), weights)

    def twice(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal:
        return mutate(sequence, rng, context, count=2)

    rng = Random(1)
    starts = [small.sample_sequence(rng) for _ in range(4)]
    worst, pairs = Kernel(context, (twice,)).worst_imbalance(starts, rng, most=6)
    assert pairs >= 12
    assert worst < 1e-9


def test_the_check_notices_a_wrong_correction(tiny_context: MutationContext) -> None:
    """The check itself is checked: a factor of 2 in one direction must show."""
    insert, delete = OPERATORS["insert_step"], OPERATORS["delete_step"]

    def wrong(sequence: Sequence, rng: Random, context: MutationContext) -> Proposal | None:
        proposal = insert(sequence, rng, context)
        if proposal is None:
            return None
        return Proposal(proposal.sequence, ("wrong",), proposal.log_ratio + math.log(2))

    rng = Random(1)
    starts = [tiny_context.distribution.sample_sequence(rng, 2) for _ in range(4)]
    worst, _ = Kernel(tiny_context, (wrong, delete)).worst_imbalance(starts, rng, most=8)
    assert worst > 0.1


@pytest.mark.parametrize("name", OPERATORS)
def test_the_inverse_has_the_negative_ratio(name: str, tiny_context: MutationContext) -> None:
    """Whatever an operator did, some path of its inverse undoes it at exactly the negative."""
    inverse = OPERATORS[INVERSES[name]]
    rng, checked = Random(2), 0
    for _ in range(80):
        sequence = tiny_context.distribution.sample_sequence(rng)
        proposal = OPERATORS[name](sequence, rng, tiny_context)
        if proposal is None or proposal.log_ratio == -math.inf:
            continue
        there = proposal.sequence
        undone = toys.outcomes(lambda rng, there=there: inverse(there, rng, tiny_context))
        back = [p.log_ratio for p, _ in undone if p is not None and p.sequence == sequence]
        assert any(abs(ratio + proposal.log_ratio) < 1e-9 for ratio in back), (proposal, back)
        checked += 1
    assert checked >= 3
