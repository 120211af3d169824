"""Several workers at once: as much found as by one, nothing twice, nobody waits for a triage."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from rondo.campaign.register import Register
from rondo.campaign.settings import Settings
from rondo.campaign.stats import Stats
from rondo.campaign.turns import Turns
from rondo.oracle.result import Alarm, Identity, Result
from rondo.search.corpus import Corpus
from rondo.sequences.step import Call, Change, SubjectSpec
from tests.campaign.conftest import DYNAMIC, STALE, VOCABULARY, toy_bytes
from tests.campaign.test_campaign import (
    PLANTED,
    SAFE,
    assert_gone,
    corpus_in,
    findings_in,
    seed,
    start,
    statistics,
    steps_by_bug,
)

Fuzz = Callable[..., subprocess.CompletedProcess[str]]
SUBJECT = SubjectSpec("chain", ("scale",))


def alarm(place: str, *, verdict: str = "stateful", exposing: str = "x") -> Alarm:
    return Alarm(0, Identity(verdict, "value", "shallow", place, exposing), ())


@pytest.mark.parametrize("workers", ["-workers=3", "-fork=3"])
def test_several_workers_find_each_planted_bug_once(
    fuzz: Fuzz, tmp_path: Path, workers: str
) -> None:
    extra = (Call(value_seed=3), Change("program"), Call(sizes=(1,)))
    deadly = {name: toy_bytes(name, *extra, Change(name), *extra) for name in ("crash", "quit")}
    deadly["hunger"] = toy_bytes("hunger", *extra, Change("hunger"), *extra)
    again = {
        f"again{n}": toy_bytes("stale_scale", Call(value_seed=n), Change("stale_scale"), *extra)
        for n in range(4)
    }
    seed(tmp_path / "corpus", stale=STALE, dynamic=DYNAMIC, **deadly, **again)
    done = fuzz("-runs=0", workers, "-print_final_stats=1")
    assert done.returncode == 0, done.stderr
    assert steps_by_bug(tmp_path / "findings") == PLANTED
    assert done.stderr.count("FIND ") == len(PLANTED)
    counted = statistics(done.stderr)
    assert counted["findings"] == len(PLANTED)
    assert counted["alarms"] == counted["findings"] + counted["known"]


def test_the_limit_holds_exactly_for_several_workers(fuzz: Fuzz, tmp_path: Path) -> None:
    done = fuzz("-seed=7", "-runs=101", "-workers=3", SAFE, "-print_final_stats=1")
    assert done.returncode == 0, done.stderr
    assert statistics(done.stderr)["number_of_executed_units"] == 101
    assert done.stderr.count("INITED") == done.stderr.count("DONE") == 1
    Corpus(tmp_path / "corpus", VOCABULARY).check_invariants()
    assert len(corpus_in(tmp_path / "corpus")) == statistics(done.stderr)["new_units_added"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_jobs_multiply_the_limits(fuzz: Fuzz) -> None:
    done = fuzz("-seed=7", "-runs=20", "-jobs=3", "-workers=2", SAFE, "-print_final_stats=1")
    assert statistics(done.stderr)["number_of_executed_units"] == 60


def test_how_many_workers_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))

    def slots(**flags: int) -> int:
        return Settings((), **flags).slots  # type: ignore[arg-type]

    assert slots() == 1
    assert slots(workers=3) == slots(fork=3) == 3
    assert slots(jobs=2) == 2
    assert slots(jobs=100) == 4, "half the cores"
    assert Settings((), jobs=5, workers=2, max_total_time=10).total_seconds == 30
    assert Settings((), jobs=5, runs=10).total_runs == 50
    assert Settings((), jobs=5).total_runs == -1


def test_the_others_go_on_while_one_confirms_a_hang(fuzz: Fuzz, tmp_path: Path) -> None:
    """Confirming a hang takes three timeouts: the other worker runs the other seeds meanwhile."""
    others = {
        f"z{n}": toy_bytes("scale", *[Call(value_seed=n % 8)] * (n // 8)) for n in range(8, 64)
    }
    seed(tmp_path / "corpus", a_hang=toy_bytes("hang"), **others)
    done = fuzz("-timeout=2", "-runs=0", "-workers=2")
    assert done.returncode == 0, done.stderr
    (found,) = (line for line in done.stderr.splitlines() if "FIND" in line)
    assert "hang" in found
    assert int(found[1:].split()[0]) > 10, "executions before the finding was written"


def test_an_alarm_akin_to_an_open_one_waits() -> None:
    register, stats = Register(), Stats()
    register.meet(b"1", SUBJECT, Result("stateful", (alarm("output"),)), stats)
    register.meet(b"2", SUBJECT, Result("stateful", (alarm("output", exposing="y"),)), stats)
    register.meet(b"3", SUBJECT, Result("stateful", (alarm("grad"),)), stats)
    first, other = register.take(), register.take()
    assert first is not None
    assert other is not None
    assert (first.data, other.data) == (b"1", b"3")
    assert register.take() is None, "the second waits for the first"
    register.close(first)
    waited = register.take()
    assert waited is not None
    assert waited.data == b"2"
    assert stats.alarms == 3


def test_of_those_that_wait_the_cheapest_is_taken_and_of_equals_the_first() -> None:
    register = Register()
    for data, place in ((b"333", "output"), (b"1", "grad"), (b"2", "buffer")):
        register.meet(data, SUBJECT, Result("stateful", (alarm(place),)), Stats())
    taken = [register.take(lambda case: len(case.data)) for _ in range(4)]
    assert [case and case.data for case in taken] == [b"1", b"2", b"333", None]


def test_an_alarm_that_waits_already_is_known() -> None:
    register, stats = Register(), Stats()
    for data in (b"1", b"2"):
        register.meet(data, SUBJECT, Result("stateful", (alarm("output"),)), stats)
    assert (stats.alarms, stats.known, len(register.undecided())) == (2, 1, 1)


def test_open_cases_wait_again_at_the_end() -> None:
    register = Register()
    both = Result("stateful", (alarm("output"), alarm("grad")))
    register.meet(b"1", SUBJECT, both, Stats())
    first = register.take()
    assert first is not None
    assert register.holds(first.data)
    register.reopen()
    assert register.take() == first


def test_turns_exclude_each_other_but_where_one_is_away() -> None:
    turns, told = Turns(), []
    may_return = threading.Event()

    def one() -> None:
        with turns.taken():
            told.append("one begins")
            with turns.away():
                may_return.wait(10)
            told.append("one ends")

    def other() -> None:
        with turns.taken():
            told.append("other")
            may_return.set()
            time.sleep(0.05)
            told.append("other ends")

    threads = [threading.Thread(target=one)]
    threads[0].start()
    while told != ["one begins"]:
        time.sleep(0.001)
    threads.append(threading.Thread(target=other))
    threads[1].start()
    for thread in threads:
        thread.join(10)
    assert told == ["one begins", "other", "other ends", "one ends"]


def test_killed_workers_and_servers_cost_nothing_but_time(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Every worker, then the server, is killed while all slots are at work."""
    process = start(tmp_path, environment, SAFE, "-workers=3", "-runs=600")
    (server,) = psutil.Process(process.pid).children()
    for victim in (*server.children(), server):
        with suppress(psutil.NoSuchProcess):  # replaced meanwhile, as any worker may be
            victim.kill()
        time.sleep(0.1)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said[-600:]
    assert "died" not in said
    assert "FIND" in said
    assert statistics_of(said) == 600
    assert {name.split("-")[0] for name in findings_in(tmp_path / "findings")} == {"stateful"}


def statistics_of(said: str) -> int:
    """Return how many executions the last line tells of."""
    return int(said[said.rindex("#") + 1 :].split()[0])


def test_stopped_workers_and_a_stopped_server_go_on(
    environment: dict[str, str], tmp_path: Path
) -> None:
    process = start(tmp_path, environment, SAFE, "-workers=2", "-timeout=60", "-runs=400")
    (server,) = psutil.Process(process.pid).children()
    for victim in (*server.children(), server):
        victim.suspend()
    _, said = process.communicate(timeout=50)
    assert process.returncode == 0, said[-600:]
    assert statistics_of(said) == 400


def test_a_signal_ends_several_workers(environment: dict[str, str], tmp_path: Path) -> None:
    process = start(tmp_path, environment, "--constructs=hang", "-timeout=60", "-workers=3")
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert_gone(family, within=10)
    assert list((tmp_path / "tmp").iterdir()) == []
