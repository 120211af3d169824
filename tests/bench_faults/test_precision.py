"""What does not come up again from an alarm's bytes alone counts against precision."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rondo.campaign.executor import Executor
from rondo.oracle.result import Alarm
from tests.campaign.conftest import HARMLESS, STALE, TOY, toy_bytes

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from precision import CONFIRMED, LIMITS, Court, Tally, read_tally, wilson
from seeded import Workers

FLAKY = toy_bytes("flaky_scale")


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers(TOY)
    yield made
    made.close()


def alarms_of(data: bytes, workers: Workers, *, after: bytes = b"") -> tuple[Alarm, ...]:
    """Return what a search sees of `data` in a worker that has executed `after`."""
    executor = Executor(workers.server, LIMITS, batch=2, interrupted=lambda: None)
    if after:
        assert not executor.run(after).alarms
    return executor.run(data).alarms


def test_a_true_alarm_is_confirmed(workers: Workers) -> None:
    (alarm,) = alarms_of(STALE, workers)
    assert Court(workers).judge(STALE, (alarm,)) == [CONFIRMED]


def test_an_alarm_that_needs_what_ran_before_is_not(workers: Workers) -> None:
    alarms = alarms_of(FLAKY, workers, after=HARMLESS)
    assert alarms
    assert Court(workers).judge(FLAKY, alarms) == ["agree"] * len(alarms)


def test_neither_another_identity_nor_another_step_confirms_an_alarm(workers: Workers) -> None:
    (alarm,) = alarms_of(STALE, workers)
    renamed = replace(alarm, identity=replace(alarm.identity, effect="shape"))
    moved = replace(alarm, step=0)
    outcomes = Court(workers).judge(STALE, (renamed, moved))
    assert outcomes == [str(alarm.identity), "agree"]


def test_the_interval_is_wilson_s() -> None:
    low, high = wilson(1000, 1000)
    assert (round(low, 4), high) == (0.9962, 1.0)
    low, high = wilson(0, 10)
    assert (low, round(high, 3)) == (0.0, 0.278)
    assert wilson(0, 0) == (0.0, 1.0)


def test_what_was_written_is_counted_again(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    assert read_tally("one", file) == (Tally("one"), set(), [])
    rows = [Tally("one", executions=1, calls=3, seconds=0.5), Tally("one", executions=1, calls=2)]
    rows[1].outcomes[CONFIRMED] += 2
    rows[1].verdicts["stateful"] += 2
    rows[1].documented = 1
    with file.open("w") as out:
        for row, data in zip(rows, (HARMLESS, STALE), strict=True):
            record = {**row.figures(), "data": data.hex(), "identities": ["x"] * row.alarms}
            out.write(json.dumps(record) + "\n")
    tally, seen, alarmed = read_tally("one", file)
    assert (seen, alarmed) == ({STALE, HARMLESS}, [STALE])
    assert (tally.executions, tally.calls, tally.alarms, tally.documented) == (2, 5, 2, 1)
