"""What the comparison of samplers makes of its runs, on runs that are written by hand."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import blame  # noqa: E402  (scripts of the bench, not a package)
import sampler as bench  # noqa: E402
from sampler_plots import draw  # noqa: E402

from rondo.oracle.result import Identity  # noqa: E402


def run(sampler: str, seed: int, *moments: tuple[float, int]) -> dict[str, Any]:
    """A campaign that shows nothing but seconds and behaviours."""
    rows = [[cpu, 2 * cpu, n, count, 0, 0, 0] for n, (cpu, count) in enumerate(moments, 1)]
    return {"sampler": sampler, "seed": seed, "moments": rows, "time_shares": {"eager": 1.0}}


RUNS = [
    run("random", 1, (10, 50), (100, 90)),
    run("random", 2, (10, 60), (100, 100)),
    run("random", 3, (10, 60), (100, 110)),
    run("mcmc", 1, (10, 80), (30, 100), (100, 300)),
    run("mcmc", 2, (10, 80), (50, 120), (100, 290)),
    run("mcmc", 3, (10, 20), (90, 99)),
]


def test_the_share_is_the_time_until_random_is_reached() -> None:
    assert bench.shares(RUNS, "cpu") == [0.3, 0.5, math.inf]
    assert bench.shares(RUNS, "wall") == [0.3, 0.5, math.inf]
    figures = bench.judge(RUNS, ("mcmc", "random"))
    assert figures["share"]["cpu"] == {"median": 0.5, "low": 0.3, "high": math.inf}
    assert figures["samplers"]["random"]["behaviours"]["median"] == 100
    assert any("after 0.50 (0.30-inf) of its cpu" in line for line in bench.table(figures))


@pytest.mark.parametrize(
    ("more", "less", "p"),
    [
        ([4, 5, 6], [1, 2, 3], 1 / 20),
        ([1, 2, 3], [4, 5, 6], 1.0),
        ([7, 8, 9, 10, 11], [1, 2, 3, 4, 5], 1 / 252),
        ([1, 1], [1, 1], 1.0),
        ([2], [1], 0.5),
    ],
)
def test_the_rank_test_is_exact(more: list[float], less: list[float], p: float) -> None:
    assert bench.rank_test(more, less) == pytest.approx(p)


def test_runs_that_are_there_are_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def pretended(sampler: str, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
        ran.append((sampler, seed))
        return {**run(sampler, seed, (1, 5)), "live": {}, **settings}

    monkeypatch.setattr(bench, "campaign", pretended)
    path, settings = tmp_path / "runs.jsonl", {"seconds": 60.0, "preload": ()}
    samplers = ("mcmc", "random")
    first = bench.all_runs(path, range(1, 3), settings, samplers)
    assert ran == [("mcmc", 1), ("random", 1), ("mcmc", 2), ("random", 2)]
    with path.open("a") as file:
        file.write('{"sampler": "mcmc", "se')
    assert bench.all_runs(path, range(1, 3), settings, samplers) == json.loads(json.dumps(first))
    assert len(ran) == 4
    bench.all_runs(path, range(1, 2), {**settings, "seconds": 61.0}, samplers)
    assert len(ran) == 6, "other settings are another comparison"


def with_bugs(sampler: str, seed: int, live: dict[str, float]) -> dict[str, Any]:
    """A campaign that found these bugs at these times."""
    return {**run(sampler, seed, (10, 50), (100, 100)), "live": live}


def test_the_last_line_tells_every_figure_and_target() -> None:
    samplers = ("mcmc", "random", "stateless")
    runs = [
        with_bugs("mcmc", 1, {"a": 4.0, "b": 8.0, "c": 9.0}),
        with_bugs("random", 1, {"a": 40.0}),
        with_bugs("stateless", 1, {"b": 1.0}),
    ]
    figures = bench.judge(runs, samplers)
    assert bench.verdicts(figures, "cpu") == [
        ("mcmc has random's behaviours after 100% of its time (target <= 60%)", False),
        ("live: 3 (target >= random's 1)", True),
        ("stateless 1 (target <= 1.0)", True),
    ]
    nothing = bench.judge([with_bugs("mcmc", 1, {}), *runs[1:]], samplers)
    assert ("live: 0 (target >= random's 1)", False) in bench.verdicts(nothing, "cpu")
    slow = bench.judge([*RUNS[:3], RUNS[-1]], ("mcmc", "random"))
    assert bench.verdicts(slow, "cpu") == [
        ("mcmc has random's behaviours never (target <= 60%)", False)
    ]


def test_a_bug_has_its_median_time_over_all_runs() -> None:
    runs = [with_bugs("mcmc", n, {"a": 10.0 * n} if n < 3 else {}) for n in (1, 2, 3)]
    runs += [with_bugs("random", n, {"a": 5.0} if n < 2 else {}) for n in (1, 2, 3)]
    figures = bench.times(runs, ("mcmc", "random"), "live")
    assert figures == {
        "a": {
            "mcmc": {"found": 2, "of": 3, "median": 20.0},
            "random": {"found": 1, "of": 3, "median": math.inf},
        }
    }
    text = "\n".join(bench.table(bench.judge(runs, ("mcmc", "random"))))
    assert re.search("live a +mcmc 2 of 3, 20 s +random 1 of 3", text)


class Pretended:
    """Workers under which a finding shows if one of `guilty` is planted, or all of `needed`."""

    def __init__(self, guilty: set[str], needed: set[str]) -> None:
        self.guilty, self.needed = guilty, needed
        self.chosen: set[str] = set()
        self.runs = 0
        self.executor = self

    def choose(self, *faults: Any) -> None:
        self.chosen = {fault.name for fault in faults}

    def run_fresh(self, data: bytes) -> Any:
        self.runs += 1
        shows = bool(self.guilty & self.chosen) or self.needed <= self.chosen
        return SimpleNamespace(alarms=[SimpleNamespace(identity=IDENTITY)] if shows else [])


IDENTITY = Identity("stateful", "value", "m", "call()", "eager")


@pytest.mark.parametrize(
    ("guilty", "needed", "expected"),
    [
        ({"f3"}, {"no"}, "f3"),
        ({"f0", "f6"}, {"no"}, "f0"),
        ({"elsewhere"}, {"f1", "f5"}, None),
        ({"elsewhere"}, set(), None),
    ],
    ids=["one", "either", "both", "live"],
)
def test_a_finding_is_laid_to_the_fault_that_shows_it_alone(
    guilty: set[str], needed: set[str], expected: str | None
) -> None:
    workers = Pretended(guilty, needed)
    faults: Any = [SimpleNamespace(name=f"f{n}") for n in range(7)]
    judge = blame.Judge(faults, workers)  # type: ignore[arg-type]
    found: Any = SimpleNamespace(data=b"", identity=IDENTITY)
    assert judge.fault_of(found, "bucket") == expected
    if expected is not None:
        workers.runs = 0
        assert judge.fault_of(found, "bucket") == expected
        assert workers.runs == 2, "what the bucket was before is tried first"


def test_the_curves_are_drawn(tmp_path: Path) -> None:
    draw(RUNS, tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
