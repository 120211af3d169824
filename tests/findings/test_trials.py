"""Trials: kept as they are made, taken over whole, and never those of another sequence."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import ReproducerError
from rondo.findings.trials import Showing, Trials
from rondo.oracle.result import Alarm, Difference, Identity

ALARM = Alarm(
    2, Identity("stateful", "value", "eager", "output", "x.y"), (Difference("a", "b", "c", "d"),)
)
SHOWN = (Showing(ALARM, True), Showing(ALARM, None))
HEADER = {"start": b"abc", "identity": {"verdict": "stateful"}, "environment": {"toy": "1"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "bug.trials"
    trials = Trials()
    assert trials.keep_in(path, HEADER, resume=True) == 0
    trials.add(b"one", SHOWN)
    trials.add(b"two", ())
    trials.close()
    return path


def resumed(path: Path) -> Trials:
    trials = Trials()
    trials.keep_in(path, HEADER, resume=True)
    trials.close()
    return trials


def test_trials_come_back(path: Path) -> None:
    trials = resumed(path)
    assert (len(trials), trials.get(b"one"), trials.get(b"two")) == (2, SHOWN, ())
    assert b"two" in trials
    assert b"three" not in trials


def test_unclear_ones_come_back_as_such(path: Path) -> None:
    trials = Trials()
    trials.keep_in(path, HEADER, resume=True)
    trials.add(b"three", (), unclear=True)
    trials.close()
    again = resumed(path)
    assert (again.unclear, again.get(b"three"), b"three" in again) == ({b"three"}, (), True)
    again.forget_unclear()
    assert (again.unclear, b"three" in again, b"two" in again) == (set(), False, True)


def test_without_resume_the_file_is_written_anew(path: Path) -> None:
    trials = Trials()
    assert trials.keep_in(path, HEADER, resume=False) == 0
    trials.close()
    assert len(resumed(path)) == 0


def test_a_killed_run_loses_at_most_the_trial_it_was_writing(path: Path) -> None:
    whole = path.read_bytes()
    sizes = set()
    for length in range(len(whole) - 1, len(whole) - 20, -1):
        path.write_bytes(whole[:length])
        trials = Trials()
        trials.keep_in(path, HEADER, resume=True)
        sizes.add(len(trials))
        trials.add(b"later", SHOWN)
        trials.close()
        assert resumed(path).get(b"later") == SHOWN
    assert sizes == {0, 1}


@pytest.mark.parametrize(
    "tail", [b"\xc1", b"\x93\x01\x02\x03", b"\x93\xc4\x01a\x01\xc0", b"\xdd\xff\xff\xff\xff"]
)
def test_a_damaged_tail_is_cut_off(path: Path, tail: bytes) -> None:
    with path.open("ab") as file:
        file.write(tail)
    assert len(resumed(path)) == 2
    assert tail not in path.read_bytes()


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x80", b"RQ\x01", b"\xdf\xff\xff\xff\xff"])
def test_another_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ReproducerError, match="about another sequence"):
        resumed(path)


def test_trials_of_another_environment_are_refused(path: Path) -> None:
    with pytest.raises(ReproducerError, match="about another sequence"):
        Trials().keep_in(path, {**HEADER, "environment": {"toy": "2"}}, resume=True)


def test_a_folder_is_no_trials(tmp_path: Path) -> None:
    with pytest.raises(ReproducerError, match="cannot use"):
        Trials().keep_in(tmp_path, HEADER, resume=True)
