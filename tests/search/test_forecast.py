"""What is foretold of a sequence follows from its parts, and from nothing that a clock says."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from rondo.search.corpus import Corpus
from rondo.search.features import features_of
from rondo.search.forecast import LINE_WORTH, Forecast
from rondo.search.promise import Effort, Promise
from rondo.search.sampler import SearchState
from rondo.search.starts import BLIND, CORPUS, CROSSED, FRESH, Starts, cross
from rondo.search.tiers import NOMINAL_COSTS, LearnedTiers
from rondo.search.yields import FLOOR, Yields
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from tests import toys

TOY = toys.toy_vocabulary()


def sequence_of(*steps: Call | Change, constructs: tuple[str, ...] = ()) -> Sequence:
    return normalise(Sequence(SubjectSpec("mlp", constructs), Options(), steps), TOY)


# --------------------------------------------------------------------------------------- features


def test_features_name_parts_changes_and_differences_once_each() -> None:
    first = Call(sizes=(1,))
    second = Call(sizes=(2,), dtype=1, value_seed=3)
    sequence = sequence_of(
        first, Change("hook", 1, 1), first, second, first, second, constructs=("hook",)
    )
    assert features_of(sequence) == (
        "architecture mlp",
        "construct hook",
        "change hook.1.1",
        "after hook.1",
        "between equals",
        "operand dtype=1",
        "between several",
        "among dtype",
        "among sizes",
        "calls 3",
    )


def test_options_that_are_usual_say_nothing() -> None:
    usual = sequence_of(Call(sizes=(0,)))
    assert not any(feature.startswith("option") for feature in features_of(usual))
    other = Sequence(usual.subject, Options(mode=1, dynamic=2), usual.steps)
    assert {"option mode=1", "option dynamic=2"} <= set(features_of(other))


# ---------------------------------------------------------------------------------------- promise


def test_credit_goes_to_the_feature_that_finds_things() -> None:
    promise, rng = Promise(), Random(0)
    for n in range(300):
        others = [f"construct {letter}" for letter in rng.sample("abcdef", 2)]
        promise.learn([*others, "construct x"] if n % 2 else others, 3.0 if n % 2 else 0.0)
    rates = {letter: promise.expect([f"construct {letter}"]) for letter in "abcdefx"}
    assert rates["x"] > 2 * max(rate for letter, rate in rates.items() if letter != "x")


def test_what_is_used_up_promises_less_than_what_nobody_tried() -> None:
    promise = Promise()
    for n in range(20):
        for name in ("a", "b", "c"):
            promise.learn([f"construct {name}"], 8.0 if n == 0 else 0.0)
    assert promise.expect(["construct new"]) > 5
    assert promise.expect(["construct a"]) < 0.1
    assert promise.expect([]) == 0


def test_a_reward_adds_to_the_last_trial_and_invents_none() -> None:
    promise = Promise()
    promise.learn(["construct a"], 0.0)
    before = promise.expect(["construct a"]), promise.expect(["construct b"])
    promise.reward(["construct a", "construct b"], 2.0)
    assert promise.expect(["construct a"]) > before[0]
    assert promise.expect(["construct b"]) == before[1]


def test_effort_learns_what_architectures_cost() -> None:
    effort = Effort()
    cheap = sequence_of(Call(sizes=(0,)))
    dear = Sequence(SubjectSpec("cnn"), Options(), (Call(sizes=(0, 0)),))
    for _ in range(60):
        effort.learn(cheap, 1.0)
        effort.learn(dear, 6.0)
    assert effort.expect(cheap) == pytest.approx(1.0, rel=0.3)
    assert effort.expect(dear) == pytest.approx(6.0, rel=0.3)
    average = Sequence(SubjectSpec("lstm"), Options(), (Call(sizes=(0, 0)),))
    assert effort.expect(average) == pytest.approx(3.5, rel=0.3), "each architecture counts once"
    longer = cheap.with_steps(cheap.steps * 9)
    assert effort.expect(longer) == pytest.approx(3 * effort.expect(cheap))


def test_an_architecture_is_as_dear_as_it_is_on_the_back_end_below() -> None:
    below = Effort()
    effort = Effort(below)
    small = sequence_of(Call(sizes=(0,)))
    large = Sequence(SubjectSpec("cnn"), Options(), (Call(sizes=(0, 0)),))
    for _ in range(60):
        below.learn(small, 1.0)
        below.learn(large, 9.0)
        effort.learn(small, 10.0)
    assert effort.expect(large) == pytest.approx(18.0, rel=0.3), "1.8 times the average there"
    for _ in range(60):
        effort.learn(large, 2.0)
    assert effort.expect(large) == pytest.approx(2.0, rel=0.4), "its own record says more"


def test_blind_starts_take_what_is_cheap() -> None:
    state = SearchState.begin(TOY, Corpus(None, TOY))
    forecast = Forecast((0,))
    starts = Starts(state, forecast)
    rng = Random(3)
    for _ in range(300):
        drawn = state.distribution.sample_sequence(rng, backends=(0,))
        forecast.learn(drawn, 0.0, 50.0 if drawn.subject.architecture == "cnn" else 1.0)
    plain = [state.distribution.sample_sequence(rng, backends=(0,)) for _ in range(200)]
    blind = [starts.blind(rng, 0) for _ in range(200)]
    large = [sum(each.subject.architecture == "cnn" for each in those) for those in (plain, blind)]
    assert large[0] > 5 * large[1]


def test_the_best_promises_most_for_its_work() -> None:
    forecast = Forecast((0,))
    tried = sequence_of(Call(sizes=(0,)), constructs=("hook",))
    untried = sequence_of(Call(sizes=(0,)), constructs=("counter",))
    for _ in range(10):
        forecast.learn(tried, 0.0, 1.0)
    assert forecast.best([tried, untried]) == untried
    assert forecast.best([untried, untried.with_steps(untried.steps * 20)]) == untried


def test_lines_speak_softly() -> None:
    forecast = Forecast((0,))
    sequence = sequence_of(Call(sizes=(0,)), constructs=("hook",))
    forecast.learn(sequence, 0.0, 1.0)
    before = forecast.log_value(sequence)
    forecast.reward_lines(sequence, 100)
    assert forecast.log_value(sequence) > before
    assert LINE_WORTH < 0.2


# ----------------------------------------------------------------------------------------- starts


def filled(state: SearchState, count: int = 12) -> SearchState:
    rng = Random(5)
    for n in range(count):
        sequence = state.distribution.sample_sequence(rng, 6)
        state.corpus.add(sequence)
        state.corpus.note(sequence, first={n}, shown={n}, work=1.0 + n)
    return state


def test_without_a_corpus_every_start_is_fresh(state: SearchState) -> None:
    starts = Starts(state, Forecast((0,)))
    assert {starts.draw(Random(n), 0)[0] for n in range(20)} == {BLIND, FRESH}


def test_the_way_that_pays_is_used_most_and_none_is_forgotten(state: SearchState) -> None:
    starts = Starts(filled(state), Forecast((0,)), looked_at=1)
    for _ in range(30):
        starts.yields.note(BLIND, 0.0, 1.0)
        starts.yields.note(FRESH, 0.0, 1.0)
        starts.yields.note(CORPUS, 0.0, 1.0)
        starts.yields.note(CROSSED, 5.0, 1.0)
    rng = Random(1)
    drawn = Counter(starts.draw(rng, 0)[0] for _ in range(600))
    assert drawn[CROSSED] > 350
    assert min(drawn[BLIND], drawn[FRESH], drawn[CORPUS]) > 15
    assert starts.rate == starts.yields.rate(CROSSED)


def test_crossings_are_valid_and_hold_steps_of_both(state: SearchState) -> None:
    entries = [entry.sequence for entry in filled(state).corpus]
    rng = Random(2)
    both = 0
    for _ in range(100):
        first, second = rng.sample(entries, 2)
        child = cross(first, second, rng, state)
        assert normalise(child, TOY) == child
        assert child.subject.architecture == first.subject.architecture
        own = {step for step in second.steps if isinstance(step, Change)} - set(first.steps)
        both += bool(own & set(child.steps)) and first.steps[0] == child.steps[0]
    assert both > 10


def test_fresh_starts_are_the_best_of_several(state: SearchState) -> None:
    forecast = Forecast((0,))
    for _ in range(30):
        forecast.learn(state.distribution.sample_sequence(Random(3), 6), 0.0, 1.0)
    values = {}
    for looked_at in (1, 16):
        starts, rng = Starts(state, forecast, looked_at=looked_at), Random(4)
        values[looked_at] = sum(forecast.log_value(starts.fresh(rng, 0)) for _ in range(40))
    assert values[16] > values[1]


# -------------------------------------------------------------------------------- yields and tiers


def test_what_takes_little_work_is_used_more_often() -> None:
    yields = Yields(("light", "heavy"))
    for _ in range(100):
        yields.note("light", 1.0, 0.5)
        yields.note("heavy", 4.0, 2.0)
    assert yields.shares["light"] == pytest.approx(yields.shares["heavy"], rel=0.1)
    assert yields.frequencies["light"] == pytest.approx(4 * yields.frequencies["heavy"], rel=0.1)
    assert sum(yields.frequencies.values()) == pytest.approx(1.0)


def test_one_hang_does_not_end_a_way() -> None:
    yields = Yields(("usual", "hung"))
    for _ in range(20):
        for way in ("usual", "hung"):
            yields.note(way, 2.0, 1.0)
    yields.note("hung", 1.0, 960.0)
    assert yields.frequencies["hung"] > FLOOR / 6, "half of its share: all but one take as much"
    for _ in range(20):
        yields.note("usual", 2.0, 1.0)
        yields.note("hung", 2.0, 30.0)
    assert yields.frequencies["hung"] < 0.1, "it has become dear"


def test_shares_follow_yields_and_keep_a_floor() -> None:
    yields = Yields(("a", "b"))
    for _ in range(100):
        yields.note("a", 3.0, 1.0)
        yields.note("b", 0.0, 1.0)
    assert yields.shares["b"] >= FLOOR / 2
    assert yields.shares["a"] > 0.8
    for _ in range(200):
        yields.note("a", 0.0, 1.0)
        yields.note("b", 1.0, 1.0)
    assert yields.shares["b"] > 0.8, "what paid once is forgotten"


def test_nothing_anywhere_is_shared_evenly() -> None:
    yields = Yields(("a", "b"))
    for way in ("a", "b"):
        yields.note(way, 0.0, 1e30)
    assert yields.shares == pytest.approx({"a": 0.5, "b": 0.5})


def test_tiers_get_time_by_what_they_discover_for_it() -> None:
    tiers = LearnedTiers((0, 2))
    for _ in range(200):
        tiers.note(0, 0.0, 1.0)
        tiers.note(2, 4.0, 1.0)
    time = {tier: tiers.weights[tier] * NOMINAL_COSTS[tier] for tier in (0, 2)}
    assert time[2] / sum(time.values()) > 0.8
    assert tiers.weights[0] > 0.2, "a cheap tier's share of the time is many executions"
