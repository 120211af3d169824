"""A death becomes a result: what ended the worker, where, and what it said."""

from __future__ import annotations

import signal

import pytest

from rondo.campaign.deaths import Cause, Death, classify, death_result
from rondo.campaign.journal import Entry
from rondo.campaign.register import died_without_compiler
from rondo.oracle.result import Identity, Result
from rondo.sequences.step import Call, Change
from tests.campaign.conftest import VOCABULARY, toy_bytes

ENTRY = Entry(b"", "retained", 2)


@pytest.mark.parametrize(
    ("status", "cause", "detail"),
    [
        (signal.SIGSEGV, Cause.SIGNAL, "SIGSEGV"),
        (signal.SIGABRT | 0x80, Cause.SIGNAL, "SIGABRT"),
        (signal.SIGKILL, Cause.MEMORY, ""),
        (0, Cause.EXIT, "0"),
        (3 << 8, Cause.EXIT, "3"),
    ],
)
def test_a_wait_status_is_classed(status: int, cause: Cause, detail: str) -> None:
    assert classify(status, ENTRY, output="x") == Death(cause, detail, ENTRY, "x")


@pytest.mark.parametrize("cause", [Cause.TIMEOUT, Cause.MEMORY])
def test_what_the_driver_killed_for_is_the_cause(cause: Cause) -> None:
    assert classify(signal.SIGKILL, ENTRY, killed_for=cause) == Death(cause, "", ENTRY, "")


DATA = toy_bytes("crash", Call(), Change("crash"), Call(), Call(sizes=(1,)), Call(sizes=(1,)))


@pytest.mark.parametrize(
    ("step", "exposing"),
    [
        (0, "first"),
        (1, "crash.arm"),
        (2, "crash.arm"),
        (3, "call(sizes)"),
        (4, "repeat"),
        (-1, "nothing"),
        (9, "nothing"),
    ],
)
def test_the_step_in_progress_is_blamed(step: int, exposing: str) -> None:
    death = Death(Cause.SIGNAL, "SIGSEGV", Entry(DATA, "retained", step), "bad\nthing ")
    result = death_result(death, DATA, VOCABULARY)
    (alarm,) = result.alarms
    assert alarm.identity == Identity("died", "crash", "shallow", "retained", exposing, "SIGSEGV")
    assert alarm.step == min(max(step, 0), 4)
    assert alarm.differences[0].retained == "SIGSEGV: bad thing"
    assert Result.from_data(result.to_data()) == result


def test_a_death_outside_of_every_arm_and_without_steps() -> None:
    (alarm,) = death_result(Death(Cause.TIMEOUT, "", Entry(b"")), b"", VOCABULARY).alarms
    assert alarm.identity == Identity("died", "hang", "shallow", "outside", "nothing")
    assert alarm.differences[0].retained == "hang"


@pytest.mark.parametrize(
    ("verdict", "place", "answer"),
    [
        ("died", "eager", True),
        ("died", "reference", True),
        ("died", "retained", False),
        ("died", "reset", False),
        ("died", "outside", False),
        ("stateful", "eager", False),
    ],
)
def test_a_program_that_dies_by_itself_is_no_finding(
    verdict: str, place: str, answer: bool
) -> None:
    assert died_without_compiler(Identity(verdict, "crash", "eager", place, "first")) is answer
