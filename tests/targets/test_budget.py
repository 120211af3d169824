"""The time that seeds may take: which inputs run, which come later, and what is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.libfuzzer.budget import DEFERRED_EVERY, Budget, budget_for, count_seeds

MUCH = 1000


class Clock:
    """Moves only when told to."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def give(budget: Budget, clock: Clock, count: int, *, cost: float) -> list[bytes]:
    """Give an empty input and `count` seeds, each of which takes `cost`; return what was run."""
    run = []
    for data in [b"", *(b"seed %d" % n for n in range(count))]:
        if budget.admits(data):
            run.append(data)
            clock.now += cost
    return run


def test_seeds_get_half_of_the_time_and_the_rest_come_later(clock: Clock) -> None:
    budget = Budget(100, 8, clock=clock)
    assert give(budget, clock, 8, cost=15) == [b"", b"seed 0", b"seed 1", b"seed 2"]
    assert list(budget.deferred) == [b"seed %d" % n for n in range(3, 8)]
    asked = [budget.proposal(MUCH) for _ in range(2 * DEFERRED_EVERY)]
    assert [seed for seed in asked if seed] == [b"seed 3", b"seed 4"]
    assert asked[DEFERRED_EVERY - 1] == b"seed 3"
    assert budget.admits(b"seed 3"), "it runs when it is proposed"


def test_seeds_that_fit_are_all_run(clock: Clock) -> None:
    budget = Budget(100, 8, clock=clock)
    assert len(give(budget, clock, 8, cost=5)) == 9
    assert not budget.deferred
    assert budget.proposal(MUCH) is None


def test_one_seed_runs_however_late_it_is(clock: Clock) -> None:
    budget = Budget(10, 3, clock=clock)
    assert give(budget, clock, 3, cost=60) == [b"", b"seed 0"]
    assert len(budget.deferred) == 2


def test_nothing_runs_once_the_time_is_over(clock: Clock) -> None:
    budget = Budget(10, 0, clock=clock)
    give(budget, clock, 1, cost=1)
    budget.proposal(MUCH)
    assert budget.admits(b"in time")
    clock.now += 10
    assert not budget.admits(b"too late")
    assert not budget.deferred, "what was proposed is no seed"


def test_libfuzzers_own_mutations_are_not_taken_for_seeds(clock: Clock) -> None:
    """With --mutator=libfuzzer nobody asks for a proposal: the number of files tells."""
    budget = Budget(100, 2, clock=clock)
    give(budget, clock, 2, cost=1)
    clock.now += 60
    assert budget.admits(b"a mutation")


def test_a_seed_that_is_too_long_now_is_dropped(clock: Clock) -> None:
    budget = Budget(10, 3, clock=clock)
    give(budget, clock, 3, cost=60)
    assert [budget.proposal(3) for _ in range(DEFERRED_EVERY)] == [None] * DEFERRED_EVERY
    assert len(budget.deferred) == 1


@pytest.mark.parametrize("flags", [["-merge=1"], ["-minimize_crash=1"], ["-merge_inner=1"]])
def test_without_a_bound_and_where_inputs_are_sorted_all_run(
    flags: list[str], clock: Clock, tmp_path: Path
) -> None:
    for budget in (Budget(0, 9, clock=clock), budget_for(["target", *flags, str(tmp_path)], 10)):
        assert len(give(budget, clock, 9, cost=600)) == 10


def test_seeds_are_counted_as_libfuzzer_reads_them(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "below" / "b").write_bytes(b"b")
    (tmp_path / "empty").write_bytes(b"")
    assert count_seeds(["-runs=3", "--lines=0", str(tmp_path), str(tmp_path / "missing")]) == 2
