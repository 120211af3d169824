"""Passes: every candidate is smaller, nothing single is left out, and masked bugs shorten too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings

from rondo.findings.passes import (
    LADDER,
    PASSES,
    inputs_for_parameters,
    later_changes,
    one_change_alone,
    ordered_changes,
    plain_architecture,
    single_removals,
)
from rondo.findings.reproducer import compose, load, save
from rondo.findings.shorten import Shortener, shorten
from rondo.findings.trials import Trials
from rondo.oracle.result import Result, Verdict
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import (
    OPTION_CHOICES,
    Call,
    Change,
    Options,
    Sequence,
    SubjectSpec,
    normalise,
)
from rondo.sequences.vocabulary import Vocabulary
from tests.findings.masked_toy import MaskedFramework
from tests.findings.test_shorten import LONG, NOISE, encoded, run
from tests.findings.test_shorten import VOCABULARY as TOY
from tests.toys import sequences, toy_vocabulary

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "bugs")]

import shorten as bench  # noqa: E402  (a script of the bench, not a package)

VOCABULARY = toy_vocabulary()
MASKED = "tests.findings.masked_toy:MaskedFramework"
Run = Callable[..., subprocess.CompletedProcess[str]]


def size_of(sequence: Sequence) -> tuple[int, ...]:
    """A well-founded measure: back end, constructs, architecture, steps, options, operands."""
    architecture = sequence.subject.architecture
    rank = LADDER.index(architecture) if architecture in LADDER else len(LADDER)
    options = [getattr(sequence.options, name) > 0 for name in ("mode", *OPTION_CHOICES)]
    operands = 0
    for step in sequence.steps:
        if isinstance(step, Change):
            operands += step.value
        else:
            operands += sum(value for name, value in fields_of(step) if name != "sizes")
            operands += sum(step.sizes)
    return (
        sequence.options.backend,
        len(sequence.subject.constructs),
        rank,
        len(sequence.steps),
        sum(options) + (sequence.subject.seed > 0),
        operands,
        calls_behind_changes(sequence),
        inversions(sequence),
    )


def calls_behind_changes(sequence: Sequence) -> int:
    """How many calls come after each change, in all."""
    steps = sequence.steps
    return sum(
        sum(isinstance(later, Call) for later in steps[position:])
        for position, step in enumerate(steps)
        if isinstance(step, Change)
    )


def inversions(sequence: Sequence) -> int:
    """How many pairs of changes stand in another order than the usual one."""
    changes = [(s.target, s.action, s.value) for s in sequence.steps if isinstance(s, Change)]
    return sum(first > second for first, second in combinations(changes, 2))


def fields_of(call: Call) -> list[tuple[str, int]]:
    return [(name, getattr(call, name)) for name in call.__dataclass_fields__]


def candidates_of(sequence: Sequence, vocabulary: Vocabulary) -> list[tuple[str, Sequence]]:
    last = max(0, len(sequence.steps) - 1)
    return [
        (each.__name__, normalise(candidate, vocabulary))
        for each in PASSES
        for candidate in each(sequence, last, vocabulary)
    ]


@given(sequences(VOCABULARY))
@settings(max_examples=60, deadline=None)
def test_every_candidate_is_smaller_so_shortening_ends(sequence: Sequence) -> None:
    for name, candidate in candidates_of(sequence, VOCABULARY):
        assert candidate == sequence or size_of(candidate) < size_of(sequence), name


@given(sequences(VOCABULARY))
@settings(max_examples=60, deadline=None)
def test_nothing_single_is_left_out(sequence: Sequence) -> None:
    """The benchmark lists what can be taken away with code of its own."""
    tried = {
        encode(normalise(each, VOCABULARY))
        for each in single_removals(sequence, max(0, len(sequence.steps) - 1), VOCABULARY)
    }
    tried.add(encode(sequence))
    for what, candidate in bench.every_removal(sequence, VOCABULARY):
        assert encode(normalise(candidate, VOCABULARY)) in tried, what


def test_a_change_is_made_in_front_of_the_exposing_call() -> None:
    first, second, last = Change("a"), Change("b"), Change("c")
    steps = (first, Call(), second, Call(dtype=1), last, Call(), Change("d"))
    sequence = Sequence(SubjectSpec("mlp"), Options(), steps)
    early, late = later_changes(sequence, 5, VOCABULARY)
    assert early.steps == (Call(), second, Call(dtype=1), last, first, Call(), Change("d"))
    assert late.steps == (first, Call(), Call(dtype=1), last, second, Call(), Change("d"))
    assert list(later_changes(sequence.with_steps((first, Call())), 1, VOCABULARY)) == []


def test_changes_in_a_row_are_put_in_order() -> None:
    changes = (Change("b"), Change("a", 1), Change("a", 0))
    sequence = Sequence(SubjectSpec("mlp"), Options(), (*changes, Call(), Change("a", 0)))
    first, second = ordered_changes(sequence, 3, VOCABULARY)
    assert first.steps[:3] == (changes[1], changes[0], changes[2])
    assert second.steps[:3] == (changes[0], changes[2], changes[1])


def test_a_construct_that_only_carries_a_bug_gives_way_to_an_architecture() -> None:
    subject = SubjectSpec("cnn", ("counter", "factor"))
    passive = Sequence(subject, Options(), (Call(), Change("program"), Call()))
    found = [each.subject for each in plain_architecture(passive, 2, VOCABULARY)]
    assert found == [SubjectSpec(name) for name in ("mlp", "cnn", "lstm")]
    active = passive.with_steps((Call(), Change("counter"), Call()))
    calls = passive.with_steps((Call(), Call()))
    for own in (active, calls):
        assert list(plain_architecture(own, 1, VOCABULARY)) == []


def test_inputs_stand_in_for_the_parameters_of_constructs_and_architectures() -> None:
    steps = (Call(), Change("cnn"), Call(backward=2))
    sequence = Sequence(SubjectSpec("cnn", ("counter", "factor")), Options(), steps)
    found = list(inputs_for_parameters(sequence, 2, VOCABULARY))
    wanting = Call(backward=2, inputs_grad=1)
    assert [each.subject for each in found] == [
        SubjectSpec("cnn", ("factor",)),
        SubjectSpec("cnn", ("counter",)),
        SubjectSpec("mlp", ("counter", "factor")),
    ]
    assert found[0].steps == (Call(), Change("cnn"), wanting)
    assert found[2].steps == (Call(), wanting)
    forward = sequence.with_steps((Call(), Call(grad=1)))
    assert list(inputs_for_parameters(forward, 1, VOCABULARY)) == []


def test_what_is_done_and_undone_is_only_done() -> None:
    off, on, other = Change("counter", 0, 1), Change("counter", 0, 0), Change("factor")
    steps = (off, Call(), other, on, Call())
    sequence = Sequence(SubjectSpec("mlp", ("counter", "factor")), Options(), steps)
    found, *others = one_change_alone(sequence, 4, VOCABULARY)
    assert found.steps == (Call(), other, off, Call())
    # Then what else can be done to it, but for what dropping a step leaves.
    actions = VOCABULARY.targets_by_name["counter"].actions
    changes = [
        Change("counter", number, value)
        for number, action in enumerate(actions)
        for value in range(action.values)
    ]
    assert {each.steps[2] for each in others} == {*changes} - {off, on}
    assert all(each.steps[:2] == found.steps[:2] for each in others)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_width_changes_only_how_much_is_run(width: int) -> None:
    """Candidates run ahead are judged in their order."""
    asked: list[int] = []

    def run_all(many: list[bytes]) -> list[Result | None]:
        asked.append(len(many))
        return [run(data) for data in many]

    alarm = run(LONG).alarms[0]
    wide = Shortener(LONG, alarm, run, TOY, budget=None, execute_all=run_all, width=width).run()
    narrow = shorten(LONG, alarm, run, TOY, budget=None)
    assert (wide.data, wide.alarm, wide.minimal) == (narrow.data, narrow.alarm, True)
    assert max(asked) == width
    assert wide.executions == sum(asked) >= narrow.executions


def test_what_was_tried_is_never_run_again() -> None:
    alarm = run(LONG).alarms[0]
    trials = Trials()
    first = Shortener(LONG, alarm, run, TOY, trials=trials).run()

    def refuse(data: bytes) -> Result:
        raise AssertionError("run again")

    again = Shortener(LONG, alarm, refuse, TOY, trials=trials).run()
    assert (again.data, again.executions, again.minimal) == (first.data, 0, True)


def test_the_best_so_far_survives_an_interruption() -> None:
    alarm = run(LONG).alarms[0]
    left = 6

    def interrupted(data: bytes) -> Result:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt
        return run(data)

    shortener = Shortener(LONG, alarm, interrupted, TOY)
    with pytest.raises(KeyboardInterrupt):
        shortener.run()
    short = shortener.stopped("interrupted")
    assert short.steps_after < short.steps_before
    assert (short.minimal, short.reason) == (False, "interrupted")
    assert run(short.data).verdict == "stateful"


def test_a_masked_bug_shrinks_and_verifies(rondo: Run, tmp_path: Path) -> None:
    """Which agreeing calls get a reset arm is sampled by the bytes, unless a masked bug is told."""
    steps = (*NOISE, Change("scale", 0, 1), Call(values=2), *NOISE)
    data = encoded(("scale", "batch_mean"), *steps, backend=1)
    framework = MaskedFramework()
    result = execute(data, framework, settings=Settings(always_reset=True))
    alarm = result.alarms[0]
    assert alarm.identity.verdict == Verdict.MASKED.value
    save(compose(data, alarm, TOY, result=result), tmp_path / "masked.rondo")
    done = rondo("shrink", "masked.rondo", "--framework", MASKED)
    assert done.returncode == 0, done.stderr
    short = load(tmp_path / "masked.short.rondo")
    assert len(short.decoded["steps"]) <= 3
    assert short.minimal
    assert execute(short.data, framework).verdict == "agree"
    done = rondo("verify", "masked.short.rondo", "--framework", MASKED, "--times", 2)
    assert done.returncode == 0, done.stdout
    assert rondo("replay", "masked.short.rondo", "--framework", MASKED).returncode == 1
