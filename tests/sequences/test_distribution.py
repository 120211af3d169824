"""Every density is the exact probability with which its sampler returns something."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain, product
from random import Random

import pytest
from hypothesis import given

from rondo.sequences.distribution import (
    CACHED,
    CACHED_WEIGHT,
    SequenceDistribution,
    StepDistribution,
    call_of,
    changes_to,
    skewed,
    slots_of,
)
from rondo.sequences.step import (
    Call,
    Change,
    Options,
    Sequence,
    Step,
    SubjectSpec,
    normalise,
)
from rondo.sequences.vocabulary import Vocabulary
from tests import toys

TOY = toys.toy_vocabulary()
SUBJECT = SubjectSpec("b", ("k", "m", "l"))
ECHOED: list[tuple[Step, ...]] = [
    (),
    (Call(dtype=1, sizes=(0, 1)),),
    (Call(grad=1, sizes=(1, 1)), Change("k", 0, 1), Call(grad=1, sizes=(1, 1))),
    (Change("program", 0, 1), Change("l", 1, 0)),
]


@pytest.mark.parametrize("others", ECHOED)
def test_a_step_is_drawn_with_exactly_its_density(
    tiny: SequenceDistribution, others: tuple[Step, ...]
) -> None:
    drawn = toys.tally(lambda rng: tiny.sample(rng, SUBJECT, others))
    model = tiny.model(SUBJECT)
    calls = [call_of(row) for row in product(*(range(len(row)) for row in model.slots))]
    changes = chain.from_iterable(map(changes_to, model.targets.values()))
    assert set(drawn) == {*calls, *changes}
    for step, probability in drawn.items():
        density = math.exp(tiny.log_density(step, SUBJECT, others))
        assert density == pytest.approx(probability, rel=1e-12), step
    called = sum(probability for step, probability in drawn.items() if isinstance(step, Call))
    assert tiny.call_probability(SUBJECT, others) == pytest.approx(called, rel=1e-12)


def test_steps_of_other_subjects_have_density_zero(tiny: SequenceDistribution) -> None:
    foreign = SubjectSpec("a", ("k",))
    assert tiny.log_density(Change("l"), foreign, (Change("k"),)) == -math.inf
    assert tiny.log_density(Change("l"), foreign) == -math.inf
    assert tiny.log_density(Call(sizes=(0, 0)), foreign, (Call(sizes=(0,)),)) == -math.inf


def test_without_targets_every_step_is_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    toys.make_choices_tiny(monkeypatch)
    vocabulary = Vocabulary("bare", (toys.architecture("x", {"batch": 2}),), (), (), ("only",))
    bare = StepDistribution(vocabulary)
    drawn = toys.tally(lambda rng: bare.sample(rng, SubjectSpec("x")))
    assert len(drawn) == 8
    assert sum(math.exp(bare.log_density(step, SubjectSpec("x"))) for step in drawn) == (
        pytest.approx(1.0)
    )
    assert bare.call_probability(SubjectSpec("x")) == 1.0


def test_the_prior_sums_to_one_over_all_sequences(tiny: SequenceDistribution) -> None:
    seeds = (0, 200)
    total = math.fsum(
        math.exp(tiny.log_prior(s)) for s in toys.enumerate_sequences(tiny, seeds=seeds)
    )
    assert total == pytest.approx(0.75 + 0.25 / 255, rel=1e-12)


@pytest.mark.parametrize("backend", [0, 1])
def test_the_dearest_back_end_gets_what_only_it_can_show(backend: int) -> None:
    vocabulary = toys.tiny_vocabulary()
    cached = replace(vocabulary.constructs[2], kind=CACHED)
    vocabulary = replace(vocabulary, constructs=(*vocabulary.constructs[:2], cached))
    distribution = SequenceDistribution(vocabulary, max_length=1)
    drawn = toys.tally(lambda rng: distribution.sample_subject(rng, backend))
    usual = [subject for subject in drawn if subject.seed == 0]
    assert len(usual) == 2 * (1 + 3 + 6)
    weights = {}
    for subject in usual:
        call = Call(sizes=(0,) * (1 if subject.architecture == "a" else 2))
        prior = distribution.log_prior(Sequence(subject, Options(backend=backend), (call,)))
        step = distribution.log_density(call, subject)
        weights[subject] = math.exp(prior - step) * distribution.call_probability(subject)
    total, drawn_total = sum(weights.values()), float(sum(drawn[subject] for subject in usual))
    for subject, weight in weights.items():
        assert weight / total == pytest.approx(float(drawn[subject]) / drawn_total, rel=1e-9)
    alone = {s.constructs: float(drawn[s]) for s in usual if s.architecture == "a"}
    one = [alone[("k",)], alone[("l",)], alone[("m",)]]
    assert one[0] == pytest.approx(one[1])
    assert one[2] == pytest.approx(one[0] * (CACHED_WEIGHT if backend else 1.0))


def test_sampled_sequences_follow_the_prior(tiny: SequenceDistribution) -> None:
    rng, count = Random(2), 20_000
    sampled = [tiny.sample_sequence(rng) for _ in range(count)]
    for feature in (
        lambda s: len(s.steps) == 2,
        lambda s: len(s.steps) == 2 and s.steps[0] == s.steps[1],
        lambda s: s.subject.constructs == ("k", "l"),
        lambda s: s.options.dynamic == 2,
        lambda s: s.subject.architecture == "b" and isinstance(s.steps[0], Change),
    ):
        expected = math.fsum(
            math.exp(tiny.log_prior(s)) for s in toys.enumerate_sequences(tiny) if feature(s)
        )
        seen = sum(1 for s in sampled if s.subject.seed == 0 and feature(s)) / count
        spread = math.sqrt(expected * (1 - expected) / count)
        assert abs(seen - expected) < 5 * spread, (seen, expected)


@given(toys.sequences(TOY))
def test_the_prior_is_positive_exactly_on_what_ends_with_a_call(sequence: Sequence) -> None:
    distribution = SequenceDistribution(TOY, max_length=10)
    usable = 1 <= len(sequence.steps) <= 10 and isinstance(sequence.steps[-1], Call)
    assert math.isfinite(distribution.log_prior(sequence)) == usable
    admitted = distribution.admit(sequence, Random(0))
    assert math.isfinite(distribution.log_prior(admitted))
    assert normalise(admitted, TOY) == admitted
    if usable:
        assert admitted == sequence


@pytest.mark.parametrize("length", [1, 2, 7, 48])
def test_sampled_sequences_are_valid_and_as_long_as_asked(length: int) -> None:
    distribution = SequenceDistribution(TOY)
    rng = Random(length)
    for _ in range(50):
        sequence = distribution.sample_sequence(rng, length, backends=(1, 2))
        assert normalise(sequence, TOY) == sequence
        assert len(sequence.steps) == length
        assert isinstance(sequence.steps[-1], Call)
        assert sequence.options.backend in (1, 2)


def test_usual_choices_are_as_usual_as_documented() -> None:
    distribution = SequenceDistribution(TOY)
    slots = distribution.model(SubjectSpec("lstm", ("factor",))).slots
    assert slots[0] == pytest.approx((0.9, 0.1 / 3, 0.1 / 3, 0.1 / 3))
    assert slots[4] == pytest.approx((1 / 8,) * 8)
    assert slots[10] == pytest.approx((1 / 8,) * 8), "factor has a number to be given"
    assert slots[11][0] == 0.99, "nothing takes an integer"
    assert slots[-1] == pytest.approx((1 / 4,) * 4)
    live = distribution.model(SubjectSpec("lstm", ("factor",))).live
    assert 10 in live
    assert 11 not in live


def test_changes_go_mostly_to_the_subject() -> None:
    distribution = SequenceDistribution(TOY)
    weights = distribution.model(SubjectSpec("mlp", ("hook", "silent"))).weights
    assert weights == pytest.approx({"mlp": 0.35, "hook": 0.35, "program": 0.2, "compiler": 0.1})
    weights = distribution.model(SubjectSpec("lstm", ("silent",))).weights
    assert weights == pytest.approx({"program": 2 / 3, "compiler": 1 / 3})


def test_options_and_lengths_favour_what_is_usual() -> None:
    distribution = SequenceDistribution(TOY, max_length=99)
    assert distribution.max_length == 48
    rng = Random(1)
    options = [distribution.sample_options(rng, backends=(0,)) for _ in range(2000)]
    assert sum(o == Options() for o in options) / 2000 == pytest.approx(
        0.85 * 0.7 * 0.9 * 0.75, abs=0.05
    )
    lengths = [distribution.sample_length(rng) for _ in range(2000)]
    assert sum(lengths) / 2000 == pytest.approx(13.0, abs=0.7)


def test_skewed_rows() -> None:
    assert skewed(1, 0.8) == (1.0,)
    assert skewed(4, None) == (0.25,) * 4
    assert skewed(3, 0.5) == (0.5, 0.25, 0.25)


def test_slots_are_a_call_and_back() -> None:
    call = Call(dtype=2, thread=1, integer=5, sizes=(1, 0, 3))
    assert call_of(slots_of(call)) == call
