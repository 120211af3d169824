"""What a journal says is what was going on, also when its writer is gone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.campaign.journal import CAPACITY, NO_STEP, Entry, Journal, journal_steps
from rondo.frameworks.base import Arm
from rondo.oracle.run import execute
from tests.campaign.conftest import DYNAMIC, STALE
from tests.toy_framework import ToyFramework


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def test_a_new_journal_says_nothing(journal: Journal) -> None:
    assert journal.read() is None


@given(data=st.binary(max_size=300), arm=st.sampled_from(list(Arm)), step=st.integers(0, 2**31 - 1))
def test_another_map_of_the_file_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, arm: Arm, step: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal"
    writer, reader = Journal(path), Journal(path)
    writer.begin(data)
    assert reader.read() == Entry(data, "", NO_STEP)
    writer.step(arm, step)
    assert reader.read() == Entry(data, arm.value, step)
    writer.begin(b"next")
    assert reader.read() == Entry(b"next", "", NO_STEP)
    writer.end()
    assert reader.read() is None
    writer.close()
    reader.close()


def test_data_beyond_the_capacity_is_cut(journal: Journal) -> None:
    journal.begin(b"x" * (CAPACITY + 5))
    entry = journal.read()
    assert entry is not None
    assert entry.data == b"x" * CAPACITY


def test_it_outlives_a_killed_writer(journal: Journal, tmp_path: Path) -> None:
    pid = os.fork()
    if not pid:
        mine = Journal(tmp_path / "journal")
        mine.begin(b"last words")
        mine.step(Arm.RETAINED, 3)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert journal.read() == Entry(b"last words", "retained", 3)


class Recorder(Journal):
    """A journal that remembers every step instead of the last."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int]] = []

    def step(self, arm: Arm, step: int) -> None:
        self.steps.append((arm.value, step))


def test_every_step_of_every_arm_is_written_down_before_it() -> None:
    framework, journal = ToyFramework(), Recorder()
    journal_steps(framework, journal)
    execute(STALE, framework)
    # Eager again before the alarm: does it differ from itself?
    arms = ("eager", "retained", "reference", "reset", "eager")
    assert journal.steps == [(arm, step) for arm in arms for step in range(3)]


def test_equal_steps_are_told_apart() -> None:
    framework, journal = ToyFramework(), Recorder()
    journal_steps(framework, journal)
    execute(DYNAMIC, framework)
    assert [step for arm, step in journal.steps if arm == "retained"] == [0, 1, 2, 3]
