"""Work is counted: it follows from the bytes, grows with what is compiled, and a hang is dear."""

from __future__ import annotations

import pytest

from rondo.campaign.deaths import HANG_WORK, SLOW, Cause, Death, death_result
from rondo.campaign.journal import Entry
from rondo.oracle.result import Result
from rondo.oracle.run import CALL_WORK, COMPILATION_WORK, START_WORK, execute
from rondo.search.tiers import cost_of
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Change, Options, Sequence, Step, SubjectSpec, normalise
from tests.toy_framework import ToyFramework

TOY = ToyFramework()


def work_of(*steps: Step) -> float:
    sequence = Sequence(SubjectSpec("chain", ("scale",)), Options(), steps)
    return execute(encode(normalise(sequence, TOY.vocabulary())), TOY).work


def test_work_counts_calls_and_what_they_compile() -> None:
    once = work_of(Call())
    assert once == START_WORK + CALL_WORK + COMPILATION_WORK
    assert work_of(Call(), Call()) == round(once + CALL_WORK, 4), "a hit compiles nothing"
    recompiled = work_of(Call(), Change("scale", 0, 1), Call())
    assert recompiled == round(once + CALL_WORK + COMPILATION_WORK, 4)
    assert recompiled == work_of(Call(), Change("scale", 0, 1), Call())


@pytest.mark.parametrize("backend", range(len(TOY.vocabulary().backends)))
def test_a_hang_takes_as_much_as_it_takes(backend: int) -> None:
    """On every back end as many units of time; a crash is over at once."""
    sequence = Sequence(SubjectSpec("chain", ("scale",)), Options(backend), (Call(),))
    data = encode(normalise(sequence, TOY.vocabulary()))

    def work(cause: Cause) -> float:
        return death_result(Death(cause, "", Entry(data)), data, TOY.vocabulary()).work

    assert work(Cause.TIMEOUT) * cost_of(backend) == pytest.approx(HANG_WORK)
    assert work(Cause.SLOWNESS) * cost_of(backend) == pytest.approx(SLOW * HANG_WORK)
    assert 100 * work(Cause.SIGNAL) < HANG_WORK


def test_a_result_from_before_there_was_work_is_read() -> None:
    data = Result("agree").to_data()
    del data["work"]
    assert Result.from_data(data).work == 1.0
