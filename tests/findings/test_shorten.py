"""Shortening: a planted bug with a known smallest form, and nothing but that bug."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rondo.findings.bucket import akin, bucket_of, find_alarm
from rondo.findings.shorten import Shortened, explained_by, shorten
from rondo.oracle.compare import place_of
from rondo.oracle.result import Alarm, Difference, Identity, Result
from rondo.oracle.run import execute
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Call, Change, Options, Sequence, Step, SubjectSpec, normalise
from tests.toy_framework import ToyFramework

TOY = ToyFramework()
VOCABULARY = TOY.vocabulary()
NOISE: tuple[Step, ...] = (
    Call(sizes=(1,), value_seed=3),
    Change("scale", 0, 1),
    Change("program", 0, 0),
    Call(dtype=2),
)


def encoded(constructs: tuple[str, ...], *steps: Step, backend: int = 0, seed: int = 0) -> bytes:
    subject = SubjectSpec("chain", constructs, seed)
    return encode(normalise(Sequence(subject, Options(backend), steps), VOCABULARY))


def run(data: bytes) -> Result:
    return execute(data, TOY)


STALE = (Change("stale_scale", 0, 1),)
LONG = encoded(
    ("scale", "stale_scale"),
    *NOISE,
    *STALE,
    Call(values=2),
    *NOISE,
    backend=1,
    seed=7,
)


def shortened(data: bytes, **options: int) -> Shortened:
    return shorten(data, run(data).alarms[0], run, VOCABULARY, **options)


def test_the_known_smallest_form_is_found() -> None:
    short = shortened(LONG)
    smallest = encoded(("stale_scale",), Call(), Change("stale_scale", 0, 0), Call())
    assert short.data == smallest
    assert (short.steps_before, short.steps_after, short.minimal) == (10, 3, True)
    assert short.alarm.step == 2


def test_the_result_is_one_minimal() -> None:
    short = shortened(LONG)
    sequence = decode(short.data, VOCABULARY)
    for position in range(len(sequence.steps)):
        kept = sequence.steps[:position] + sequence.steps[position + 1 :]
        result = run(encode(sequence.with_steps(kept)))
        assert find_alarm(result, short.alarm.identity, strict=False) is None


def test_the_same_bug_at_the_end_as_at_the_start() -> None:
    """Two bugs in one sequence: each start keeps its own."""
    calls = [Call(sizes=(size,)) for size in (0, 1, 2, 0)]
    both = encoded(("batch_mean", "stale_scale"), *calls, *STALE, Call())
    alarms = run(both).alarms
    first = shorten(both, alarms[0], run, VOCABULARY)
    assert first.alarm.identity.exposing == "call(sizes)"
    assert decode(first.data, VOCABULARY).subject.constructs == ("batch_mean",)


def two_places(data: bytes, *, other: bool = False) -> Result:
    """A buffer is wrong after a change; at full precision the output is as well.

    With `other`, an output is wrong on its own as soon as there is no change.
    """
    sequence = decode(data, VOCABULARY)
    changed = any(isinstance(step, Change) for step in sequence.steps)
    last = len(sequence.steps) - 1
    call = sequence.steps[last]
    if not isinstance(call, Call) or not (changed or other):
        return Result("agree")
    places = ["buffer"] if changed else ["output"]
    if changed and not call.dtype and not other:
        places.insert(0, "output")
    effects = {"output": "value", "buffer": "fact"}
    rows = tuple(Difference(f"{place}[0]", effects[place], "1", "2") for place in places)
    effect, exposing = effects[places[0]], "stale_scale.set_factor"
    identity = Identity("stateful", effect, "shallow", places[0], exposing)
    return Result("stateful", (Alarm(last, identity, rows),))


def test_a_bug_is_followed_to_where_it_tells_more() -> None:
    """Without that, low precision would be one bug and full precision another."""
    data = encoded(("scale", "stale_scale"), *STALE, Call(dtype=2, values=2))
    assert two_places(data).alarms[0].identity.place == "buffer"
    short = shorten(data, two_places(data).alarms[0], two_places, VOCABULARY)
    assert (short.alarm.identity.place, short.minimal) == ("output", True)
    assert short.data == encoded(("stale_scale",), Change("stale_scale", 0, 0), Call())


def typed(data: bytes) -> Result:
    """After a change an output has another dtype, or another value where the change's is 0."""
    sequence = decode(data, VOCABULARY)
    changes = [step.value for step in sequence.steps if isinstance(step, Change)]
    last = len(sequence.steps) - 1
    if not changes or not isinstance(sequence.steps[last], Call):
        return Result("agree")
    effect = "dtype" if changes[-1] else "value"
    identity = Identity("stateful", effect, "shallow", "output", "stale_scale.set_factor")
    alarm = Alarm(last, identity, (Difference("output[0]", effect, "1", "2"),))
    return Result("stateful", (alarm,))


def test_a_bug_is_followed_to_the_effect_that_tells_more() -> None:
    data = encoded(("stale_scale",), Change("stale_scale", 0, 2), Call())
    assert typed(data).alarms[0].identity.effect == "dtype"
    short = shorten(data, typed(data).alarms[0], typed, VOCABULARY)
    assert (short.alarm.identity.effect, short.minimal) == ("value", True)
    assert short.data == encoded(("stale_scale",), Change("stale_scale", 0, 0), Call())


def test_fewer_steps_are_worth_another_effect() -> None:
    """Of two changes the first decides whether a number or a dtype differs, and can go."""

    def run_both(data: bytes) -> Result:
        result = typed(data)
        changes = [s for s in decode(data, VOCABULARY).steps if isinstance(s, Change)]
        effect = "value" if len(changes) == 2 else "dtype"
        alarms = tuple(
            replace(alarm, identity=replace(alarm.identity, effect=effect))
            for alarm in result.alarms
        )
        return replace(result, alarms=alarms)

    steps = (Change("stale_scale", 0, 1), Change("stale_scale", 0, 2), Call())
    data = encoded(("stale_scale",), *steps)
    short = shorten(data, run_both(data).alarms[0], run_both, VOCABULARY)
    assert (short.alarm.identity.effect, short.steps_after, short.minimal) == ("dtype", 2, True)


def test_what_two_changes_show_is_followed_to_one_that_shows_in_a_place_of_the_same() -> None:
    """Of a stale view buffer and view differ; another change shows it in the view alone."""

    def views(data: bytes) -> Result:
        sequence = decode(data, VOCABULARY)
        changes = [step.value for step in sequence.steps if isinstance(step, Change)]
        if changes not in ([1, 2], [0]) or not isinstance(sequence.steps[-1], Call):
            return Result("agree")
        places = ("buffer.x", "state.view") if changes == [1, 2] else ("state.view",)
        identity = Identity("stateful", "value", "shallow", places[0], "stale_scale.set_factor")
        identity = replace(identity, place=place_of(places[0]))
        rows = tuple(Difference(path, "value", "1", "2") for path in places)
        return Result("stateful", (Alarm(len(sequence.steps) - 1, identity, rows),))

    steps = (Change("stale_scale", 0, 1), Change("stale_scale", 0, 2), Call())
    data = encoded(("stale_scale",), *steps)
    short = shorten(data, views(data).alarms[0], views, VOCABULARY)
    assert short.data == encoded(("stale_scale",), Change("stale_scale", 0, 0), Call())
    assert (short.alarm.identity.place, short.minimal) == (place_of("state.view"), True)


@pytest.mark.parametrize(
    ("exposing", "own", "follows"),
    [
        ("stale_scale.set_factor", "buffer.scale", True),
        ("stale_scale.set_factor", "state.scale.x", True),
        ("stale_scale.set_factor", "state.stale_scale.x", False),
        ("stale_scale.set_factor", "input", False),
        ("scale.set_factor", "buffer.scale", False),
        ("call(dtype)", "buffer.scale", False),
    ],
)
def test_a_bystander_goes_in_whose_state_alone_the_bug_of_another_shows(
    exposing: str, own: str, follows: bool
) -> None:
    """Only where its state is all that is wrong, and the change that exposes is the other's."""

    def behind(data: bytes) -> Result:
        sequence = decode(data, VOCABULARY)
        constructs, last = sequence.subject.constructs, sequence.steps[-1]
        changed = any(isinstance(step, Change) for step in sequence.steps)
        if "stale_scale" not in constructs or not changed or not isinstance(last, Call):
            return Result("agree")
        path = own if "scale" in constructs else "output"
        identity = Identity("stateful", "value", "shallow", place_of(path), exposing)
        alarm = Alarm(len(sequence.steps) - 1, identity, (Difference(path, "value", "1", "2"),))
        return Result("stateful", (alarm,))

    data = encoded(("scale", "stale_scale"), *STALE, Call())
    short = shorten(data, behind(data).alarms[0], behind, VOCABULARY)
    left = decode(short.data, VOCABULARY).subject.constructs
    assert left == (("stale_scale",) if follows else ("scale", "stale_scale"))
    place = "output" if follows else place_of(own)
    assert (short.alarm.identity.place, short.minimal) == (place, True)


def test_a_bug_is_not_mistaken_for_one_that_shows_only_elsewhere() -> None:
    data = encoded(("stale_scale",), *STALE, Call(dtype=2))

    def run_other(data: bytes) -> Result:
        return two_places(data, other=True)

    short = shorten(data, run_other(data).alarms[0], run_other, VOCABULARY)
    assert (short.alarm.identity.place, short.steps_after) == ("buffer", 2)


def test_a_budget_ends_shortening_with_a_sequence_that_still_shows_the_bug() -> None:
    short = shortened(LONG, budget=4)
    assert short.executions == 4
    assert (short.minimal, short.reason) == (False, "the budget of 4 executions was spent")
    assert run(short.data).verdict == "stateful"


def test_candidates_that_die_are_not_taken_nor_held_against_the_bug() -> None:
    alarm = run(LONG).alarms[0]
    short = shorten(LONG, alarm, lambda data: None, VOCABULARY)
    assert (short.data, short.minimal) == (LONG, False)
    assert "single removals cannot be judged" in short.reason


def test_a_candidate_that_died_once_gets_another_chance() -> None:
    """A death for want of time or memory must neither end up as proof nor leave a step behind."""
    died: set[bytes] = set()

    def once(data: bytes) -> Result | None:
        if data in died:
            return run(data)
        died.add(data)
        return Result("died")

    short = shorten(LONG, run(LONG).alarms[0], once, VOCABULARY)
    assert (short.steps_after, short.minimal) == (3, True)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    shorten(LONG, run(LONG).alarms[0], run, VOCABULARY, progress=lambda *now: told.append(now))
    assert told[-1][0] == 3
    assert told == sorted(told, key=lambda pair: (-pair[0], pair[1]))


def test_buckets_of_one_bug_are_equal_and_of_two_are_not() -> None:
    short = shortened(LONG)
    other = shortened(encoded(("stale_scale",), Call(values=3), *STALE, Call(values=3), backend=1))
    mean = shortened(encoded(("batch_mean",), *(Call(sizes=(size,)) for size in (0, 1, 2, 0))))
    buckets = [
        bucket_of(each.alarm.identity, decode(each.data, VOCABULARY))
        for each in (short, other, mean)
    ]
    assert buckets[0] == buckets[1] != buckets[2]
    assert len({bucket.name for bucket in buckets}) == 2
    assert "stale_scale" in str(buckets[0])


def test_a_known_bug_explains_an_alarm_and_another_does_not() -> None:
    identity = run(LONG).alarms[0].identity
    assert explained_by(LONG, identity, [("stale_scale",)], run, VOCABULARY)
    assert not explained_by(LONG, identity, [("scale",)], run, VOCABULARY)
    assert not explained_by(LONG, identity, [()], run, VOCABULARY)


@pytest.mark.parametrize("field", ["verdict", "effect", "place", "exception"])
def test_kinship_needs_the_same_disagreement(field: str) -> None:
    identity = run(LONG).alarms[0].identity
    assert akin(identity, replace(identity, exposing="x", backend="y"))
    assert not akin(identity, replace(identity, **{field: "other"}))


def test_calls_that_must_stay_equal_are_simplified_together() -> None:
    odd = Call(sizes=(1,), value_seed=3, dtype=2)
    data = encoded(("stale_scale",), odd, Change("stale_scale", 0, 1), odd)
    short = shortened(data)
    assert short.data == encoded(("stale_scale",), Call(), Change("stale_scale", 0, 0), Call())
