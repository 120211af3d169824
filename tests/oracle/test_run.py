"""Executing on a little compiler whose faults are known: every verdict, and determinism."""

from __future__ import annotations

import itertools
import re
from functools import partial

import pytest

from rondo.oracle.observation import Leaf, Observation
from rondo.oracle.result import Result, Verdict
from rondo.oracle.run import Run, Settings, execute
from rondo.oracle.scripted import judged
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Change, Options, Sequence, Step, SubjectSpec, normalise
from tests.toy_framework import (
    Code,
    Entry,
    Part,
    Scale,
    StaleScale,
    ToyFramework,
    ToyProgram,
    Trace,
)


@pytest.fixture
def toy() -> ToyFramework:
    return ToyFramework()


def sequence(toy: ToyFramework, constructs: tuple[str, ...], *steps: Step) -> bytes:
    subject = SubjectSpec("chain", constructs)
    return encode(normalise(Sequence(subject, Options(), steps), toy.vocabulary()))


def run(
    toy: ToyFramework, constructs: tuple[str, ...], *steps: Step, settings: Settings | None = None
) -> Result:
    return execute(sequence(toy, constructs, *steps), toy, settings=settings)


CHANGED = (Call(), Change("scale", 0, 1), Call())


def test_guarded_state_agrees(toy: ToyFramework) -> None:
    result = run(toy, ("scale",), *CHANGED)
    assert (result.verdict, result.alarms, result.calls) == ("agree", (), 2)


def test_unguarded_state_is_stateful_at_the_exposing_step(toy: ToyFramework) -> None:
    result = run(toy, ("stale_scale",), Call(), Change("stale_scale", 0, 1), Call())
    (alarm,) = result.alarms
    assert result.verdict == "stateful"
    assert alarm.step == 2
    assert alarm.identity.exposing == "stale_scale.set_factor"
    assert alarm.identity.place == "output"
    (difference,) = alarm.differences
    assert difference.eager == difference.reset != difference.retained


def test_a_size_burnt_in_is_exposed_by_a_third_size(toy: ToyFramework) -> None:
    calls = [Call(sizes=(size,)) for size in (0, 1, 2, 0)]
    result = run(toy, ("batch_mean",), *calls)
    assert result.verdict == "stateful"
    assert all(alarm.identity.exposing == "call(sizes)" for alarm in result.alarms)


def test_judging_goes_on_after_a_difference_that_leaves_no_trace(toy: ToyFramework) -> None:
    stale = Change("stale_scale", 0, 1)
    result = run(toy, ("stale_scale",), Call(), stale, Call(), Call(value_seed=1), Call())
    assert [alarm.step for alarm in result.alarms] == [2, 3, 4]
    few = run(toy, ("stale_scale",), Call(), stale, Call(), Call(), settings=Settings(max_alarms=1))
    assert len(few.alarms) == 1


def wrong_code(toy: ToyFramework, monkeypatch: pytest.MonkeyPatch, *, first_only: bool) -> None:
    """Make the compiler wrong: always, or only when it compiles with an empty cache."""
    compile_right = ToyFramework.compile

    def compile_wrong(self: ToyFramework, program: ToyProgram):  # type: ignore[no-untyped-def]
        empty = not self.cache
        code = compile_right(self, program)
        if first_only and not empty:
            return code
        self.cache[-1] = Entry(program, self.cache[-1].guards, lambda values: [9.0] * len(values))
        return self.cache[-1].code

    monkeypatch.setattr(ToyFramework, "compile", compile_wrong)


def test_wrong_whatever_was_before_is_stateless(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong_code(toy, monkeypatch, first_only=False)
    assert run(toy, ("scale",), Call()).verdict == "stateless"


def test_a_wrong_fresh_compile_hidden_by_retained_state_is_masked(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong_code(toy, monkeypatch, first_only=True)
    steps = (Call(), Change("scale", 0, 1), Call())
    result = run(toy, ("scale",), *steps, settings=Settings(always_reset=True))
    assert [step.verdict for step in result.steps] == ["stateless", "", "masked"]


def test_all_arms_apart_is_split(toy: ToyFramework, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_right = ToyFramework.compile
    made = []

    def compile_worse_each_time(self: ToyFramework, program: ToyProgram):  # type: ignore[no-untyped-def]
        compile_right(self, program)
        made.append(1)
        value = 10.0 * len(made)
        guards = self.cache[-1].guards
        self.cache[-1] = Entry(program, guards, lambda values: [value] * len(values))
        return self.cache[-1].code

    monkeypatch.setattr(ToyFramework, "compile", compile_worse_each_time)
    assert run(toy, ("scale",), Call()).verdict == "split"


@pytest.fixture
def no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the float64 arm, against which a program of chance errs without bounds."""
    monkeypatch.setattr(Run, "reference", lambda self, position: None)


@pytest.mark.usefixtures("no_reference")
def test_a_program_that_differs_from_itself_is_not_comparable(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(Scale, "run", lambda self, values: [v + next(ticks) for v in values])
    result = run(toy, ("scale",), Call(), Call())
    assert (result.verdict, result.alarms) == ("not comparable", ())
    assert {step.verdict for step in result.steps} == {"not comparable"}
    assert result.steps[1].note == "eager differs from itself in output"


def test_an_exception_of_chance_is_not_comparable(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising = itertools.cycle((1, 0))
    monkeypatch.setattr(Scale, "run", lambda self, values: [1 / next(raising)])
    assert run(toy, ("scale",), Call()).verdict == "not comparable"


def lacking_kernels(self: Part, values: list[float]) -> list[float]:
    raise ZeroDivisionError("no kernel takes these")


def test_what_eager_has_no_kernel_for_is_not_comparable(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scale, "run", lacking_kernels)
    assert run(toy, ("scale",), Call()).verdict == "stateless"
    monkeypatch.setattr(ToyFramework, "no_kernel", re.compile("no kernel takes .*"))
    result = run(toy, ("scale",), Call())
    assert (result.verdict, result.steps[0].note) == (
        "not comparable",
        "eager has no kernel: no kernel takes these",
    )


def test_stale_code_that_can_do_what_eager_cannot_is_still_stateful(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Part, values: list[float]) -> list[float]:
        return lacking_kernels(self, values) if self.factor == 0.5 else values

    def trace(self: Part, trace: Trace) -> Code:
        return partial(refuse, self) if self.factor == 0.5 else lambda values: values

    monkeypatch.setattr(ToyFramework, "no_kernel", re.compile("no kernel takes .*"))
    monkeypatch.setattr(StaleScale, "run", refuse)
    monkeypatch.setattr(StaleScale, "trace", trace)
    steps = (Call(), Change("stale_scale", 0, 0), Call())
    assert run(toy, ("stale_scale",), *steps).verdict == "stateful"


def test_an_exception_of_compiled_code_is_no_chance_whatever_eager_returns(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(Scale, "run", lambda self, values: [v + next(ticks) for v in values])
    monkeypatch.setattr(Scale, "trace", lambda self, trace: lambda values: [1 / 0])
    (alarm,) = run(toy, ("scale",), Call()).alarms
    assert (alarm.identity.effect, alarm.identity.exception) == ("exception", "ZeroDivisionError")


@pytest.mark.usefixtures("no_reference")
def test_what_a_compile_leaves_in_the_process_is_no_chance(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eager is another one after the first compile, and stays it: the alarm is kept."""
    left = []
    compile_right = ToyFramework.compile

    def compile_leaving(self: ToyFramework, program: ToyProgram):  # type: ignore[no-untyped-def]
        left.append(1.0)
        return compile_right(self, program)

    monkeypatch.setattr(ToyFramework, "compile", compile_leaving)
    monkeypatch.setattr(Scale, "run", lambda self, values: [7.0 if left else 5.0] * len(values))
    assert run(toy, ("scale",), Call()).alarms


def test_code_that_never_served_is_not_agreement(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve_eagerly(self: ToyFramework, program: ToyProgram):  # type: ignore[no-untyped-def]
        def run_parts(values: list[float]) -> list[float]:
            for part in program.order():
                values = part.run(values)
            return values

        return run_parts

    monkeypatch.setattr(ToyFramework, "serve", serve_eagerly)
    assert run(toy, ("scale",), Call()).verdict == Verdict.NOT_COMPILED.value


def test_an_exception_in_both_arms_is_agreement(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.toy_framework import Scale

    def divide(self: Scale, values: list[float]) -> list[float]:
        return [1 / 0]

    def trace(self: Scale, trace: Trace):  # type: ignore[no-untyped-def]
        return lambda values: divide(self, values)

    monkeypatch.setattr(Scale, "run", divide)
    monkeypatch.setattr(Scale, "trace", trace)
    result = run(toy, ("scale",), Call())
    assert (result.verdict, result.raised) == ("agree", 1)


def test_an_exception_only_with_retained_state_is_stateful(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = ToyFramework.serve

    def raise_on_a_hit(self: ToyFramework, program: ToyProgram):  # type: ignore[no-untyped-def]
        code = serve(self, program)
        if "hit" in self.labels:
            raise ZeroDivisionError("stale")
        return code

    monkeypatch.setattr(ToyFramework, "serve", raise_on_a_hit)
    result = run(toy, ("scale",), Call(), Call())
    (alarm,) = result.alarms
    identity = alarm.identity
    assert (identity.verdict, identity.effect, identity.exception) == (
        "stateful",
        "exception",
        "ZeroDivisionError",
    )


@pytest.mark.parametrize(("reset_too", "verdict"), [(False, "stateful"), (True, "agree")])
def test_another_exception_counts_where_the_reset_arm_raises_eagers(
    toy: ToyFramework, monkeypatch: pytest.MonkeyPatch, reset_too: bool, verdict: str
) -> None:
    from tests.toy_framework import Scale

    class CompilerError(ZeroDivisionError):
        pass

    def divide(values: list[float]) -> list[float]:
        return [1 / 0]

    serve = ToyFramework.serve

    def translate(self: ToyFramework, program: ToyProgram):  # type: ignore[no-untyped-def]
        serve(self, program)
        if reset_too or "hit" in self.labels:
            raise CompilerError("other words")
        return divide

    monkeypatch.setattr(Scale, "run", lambda self, values: divide(values))
    monkeypatch.setattr(Scale, "trace", lambda self, trace: divide)
    monkeypatch.setattr(ToyFramework, "serve", translate)
    result = run(toy, ("scale",), Call(), Call())
    assert (result.verdict, result.raised) == (verdict, 2)
    if not reset_too:
        identity = result.alarms[0].identity
        assert (identity.effect, identity.exception) == ("wrong exception", "CompilerError")


@pytest.mark.parametrize(
    ("retained", "reset", "verdict"),
    [
        ("off", "off", "agree"),
        ("on", "off", "stateful"),
        ("on", "on", "stateless"),
        ("off", "on", "agree"),
    ],
)
def test_a_mode_that_an_exception_leaves_on_is_an_alarm(
    retained: str, reset: str, verdict: str
) -> None:
    def raised(mode: str, seen: str) -> Observation:
        """A mode, and Python state that compiled code has not changed before it raised."""
        leaves = {"ambient.mode": Leaf("fact", text=mode), "state.x": Leaf("fact", text=seen)}
        return Observation(leaves, returned=False, exception="IndexError", message="out of range")

    first = Observation({"ambient.mode": Leaf("fact", text="off")})
    result = judged(raised("off", "1"), raised(retained, "0"), raised(reset, "0"), first=first)
    assert result.verdict == verdict
    if verdict != "agree":
        (alarm,) = result.alarms
        assert (alarm.identity.effect, alarm.identity.place) == ("fact", "ambient.mode")
        assert [row.path for row in alarm.differences] == ["ambient.mode"]


def test_equal_bytes_give_equal_results(toy: ToyFramework) -> None:
    data = sequence(toy, ("stale_scale", "scale"), *CHANGED, Change("stale_scale", 0, 1), Call())
    first, second = execute(data, toy), execute(data, ToyFramework())
    assert first.behaviours == second.behaviours
    assert (first.alarms, first.steps, first.verdict) == (
        second.alarms,
        second.steps,
        second.verdict,
    )


def test_behaviours_tell_what_a_call_followed(toy: ToyFramework) -> None:
    labels = set(run(toy, ("scale",), *CHANGED).behaviours.values())
    assert "shallow: after first: compile" in labels
    assert "shallow: after scale.set_factor: recompile" in labels
    assert "shallow: compile then recompile" in labels


def test_results_survive_as_data(toy: ToyFramework) -> None:
    result = run(toy, ("stale_scale",), Call(), Change("stale_scale", 0, 1), Call())
    assert Result.from_data(result.to_data()) == result
