"""Work is counted: it follows from the bytes, grows with what is compiled, and a hang is dear."""

from __future__ import annotations

from rondo.campaign.deaths import HANG_WORK, Cause, Death, death_result
from rondo.campaign.journal import Entry
from rondo.oracle.result import Result
from rondo.oracle.run import CALL_WORK, COMPILATION_WORK, START_WORK, execute
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


def test_a_hang_takes_as_much_as_it_takes() -> None:
    hang, crash = (
        death_result(Death(cause, "", Entry(b"")), b"", TOY.vocabulary())
        for cause in (Cause.TIMEOUT, Cause.SIGNAL)
    )
    assert hang.work == HANG_WORK > 100 * crash.work


def test_a_result_from_before_there_was_work_is_read() -> None:
    data = Result("agree").to_data()
    del data["work"]
    assert Result.from_data(data).work == 1.0
