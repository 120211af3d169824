"""A bug that survives a drop of compiled code is not mistaken for one that the drop would cure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rondo.findings.depth import compiled_anew, drops_before
from rondo.findings.shorten import Shortened, shorten
from rondo.oracle.result import Result
from rondo.oracle.run import execute
from rondo.sequences.codec import decode
from rondo.sequences.step import Call, Change, Step, describe
from tests.findings.deep_toy import DeepFramework
from tests.findings.test_shorten import VOCABULARY as TOY
from tests.findings.test_shorten import encoded

DEEP = DeepFramework()
SET, FORGET = Change("stale_scale", 0, 1), Change("compiler", 0, 0)


def run(data: bytes) -> Result:
    return execute(data, DEEP)


def shortened(*steps: Step) -> Shortened:
    data = encoded(("scale", "stale_scale"), *steps, backend=1)
    result = run(data)
    alarm = result.alarms[-1]
    return shorten(data, alarm, run, TOY, anew=compiled_anew(result, alarm))


def steps_of(short: Shortened) -> list[str]:
    steps = describe(decode(short.data, TOY), TOY)["steps"]
    assert isinstance(steps, list)
    return steps


@pytest.mark.parametrize("last", [(SET, FORGET), (FORGET, SET)])
def test_a_drop_that_the_bug_survives_stays(last: tuple[Step, ...]) -> None:
    short = shortened(Call(), Change("program", 0, 0), Change("program", 0, 0), *last, Call())
    assert steps_of(short) == [
        "call(batch=2)",
        "compiler.forget()",
        "stale_scale.set_factor(0)",
        "call(batch=2)",
    ]
    assert short.minimal


def test_a_drop_that_is_noise_goes() -> None:
    short = shortened(Call(), FORGET, Call(), SET, Call())
    assert steps_of(short) == ["call(batch=2)", "stale_scale.set_factor(0)", "call(batch=2)"]
    assert short.minimal


def test_what_was_dropped_is_read_off_the_last_gap() -> None:
    data = encoded(("stale_scale",), Call(), FORGET, Call(), SET, FORGET, Call(), SET, Call())
    sequence = decode(data, TOY)
    forget = frozenset({"forget"})
    drops = [drops_before(sequence, position, TOY) for position, _ in sequence.calls()]
    assert drops == [frozenset(), forget, forget, frozenset()]


def test_whether_a_call_compiled_is_told_where_it_is_known() -> None:
    stale = run(encoded(("stale_scale",), Call(), SET, Call()))
    deep = run(encoded(("stale_scale",), Call(), SET, FORGET, Call()))
    assert compiled_anew(stale, stale.alarms[0]) is False
    assert compiled_anew(deep, deep.alarms[0]) is True
    assert compiled_anew(replace(stale, outcomes={}), stale.alarms[0]) is None


@pytest.mark.parametrize("values", [0, 1])
def test_each_call_is_asked_for_itself(values: int) -> None:
    """Not calls after the same thing, and whether one operand differs or several."""
    calls = (*(Call(sizes=(size,)) for size in (0, 1, 2)), Call(values=values))
    shown = run(encoded(("batch_mean",), *calls))
    assert [(alarm.step, compiled_anew(shown, alarm)) for alarm in shown.alarms] == [(3, False)]
    compiled = run(encoded(("stale_scale",), Call(), SET, Call(), FORGET, Call(), SET, Call()))
    assert {position: compiled.outcomes[position] for position in (0, 2, 4, 6)} == {
        0: "compile",
        2: "hit",
        4: "compile",
        6: "hit",
    }
