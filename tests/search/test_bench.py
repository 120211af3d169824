"""What the comparison of samplers makes of its runs, on runs that are written by hand."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import recall_faults  # noqa: E402  (scripts of the bench, not a package)
import sampler as bench  # noqa: E402
import sampler_plots  # noqa: E402
from rows import add_row, read_rows  # noqa: E402
from sampler_plots import draw  # noqa: E402


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
    made = run(sampler, seed, (10, 50), (100, 100))
    made["moments"][-1][-1] = len(live)
    return {**made, "live": live}


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
        ("live bugs: 3 (target some, and >= random's 1)", True),
        ("stateless 1 (target <= 1.0)", True),
    ]
    nothing = bench.judge([with_bugs("mcmc", 1, {}), *runs[1:]], samplers)
    missed = "live bugs: 0 (target some, and >= random's 1)"
    assert (missed, False) in bench.verdicts(nothing, "cpu")
    slow = bench.judge([*RUNS[:3], RUNS[-1]], ("mcmc", "random"))
    assert bench.verdicts(slow, "cpu") == [
        ("mcmc has random's behaviours never (target <= 60%)", False),
        ("live bugs: 0 (target some, and >= random's 0)", False),
    ]


def test_a_bug_has_its_median_time_over_all_runs() -> None:
    runs = [with_bugs("mcmc", n, {"a": 10.0 * n} if n < 3 else {}) for n in (1, 2, 3)]
    runs += [with_bugs("random", n, {"a": 5.0} if n < 2 else {}) for n in (1, 2, 3)]
    figures = bench.times(runs, ("mcmc", "random"))
    assert figures == {
        "a": {
            "mcmc": {"found": 2, "of": 3, "median": 20.0},
            "random": {"found": 1, "of": 3, "median": None},
        }
    }
    text = "\n".join(bench.table(bench.judge(runs, ("mcmc", "random"))))
    assert re.search("a +mcmc 2 of 3, 20 s +random 1 of 3", text)


def fault_row(sampler: str, seed: int, name: str, seconds: float | None) -> recall_faults.Row:
    """What became of a fault in a campaign of 60 seconds; not found without `seconds`."""
    found = seconds is not None
    what = {"layer": "rng", "backend": "eager", "expected": "stateful", "effect": "value"}
    what |= {"verdict": "stateful" if found else "", "bucket": "b" if found else ""}
    figures: dict[str, Any] = {"executions": 9, "others": 0, "limit": 60.0, "slots": 1}
    when = 61.5 if seconds is None else seconds
    return recall_faults.Row(
        name=name, found=found, seconds=when, seed=seed, sampler=sampler, **what, **figures
    )


FAULT_ROWS = [
    fault_row(sampler, seed, name, seconds)
    for sampler, times in {
        "mcmc": (10.0, 20.0),
        "random": (30.0, None),
        "stateless": (None, None),
    }.items()
    for seed in (1, 2)
    for name, seconds in zip("ab", times, strict=True)
]


def test_samplers_are_compared_on_faults() -> None:
    samplers = ["mcmc", "random", "stateless"]
    figures, good = recall_faults.judge(FAULT_ROWS, samplers)
    assert good
    assert figures["mcmc"] == {"found": [2, 2], "median": 2, "mean seconds": 15.0}
    assert figures["random"] == {"found": [1, 1], "median": 1, "mean seconds": 45.0, "p": 0.1667}
    assert figures["stateless"]["mean seconds"] == 60.0
    assert not recall_faults.judge(FAULT_ROWS, ["random"])[1], "one of two is not 95%"
    assert recall_faults.judge(FAULT_ROWS, samplers[::-1])[1], "in any order"
    others = [row for row in FAULT_ROWS if row.sampler != "mcmc"]
    missed = [fault_row("mcmc", seed, "b", None) for seed in (1, 2)]
    equal = [row for row in FAULT_ROWS if row.sampler == "mcmc" and row.name == "a"] + missed
    assert recall_faults.judge(equal + others, samplers[::-1])[1], "as many as random"
    worse = [fault_row("mcmc", seed, "a", None) for seed in (1, 2)] + missed
    assert not recall_faults.judge(worse + others, samplers[::-1])[1]
    swapped = [
        fault_row(sampler, 1, name, seconds)
        for sampler in ("mcmc", "stateless")
        for name, seconds in (("a", 1.0), ("b", 2.0))
    ]
    assert not recall_faults.judge(swapped, ["mcmc", "stateless"])[1]


def test_a_row_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert read_rows(path) == []
    add_row(path, {"a": 1})
    path.write_text(path.read_text() + '{"a": ')
    assert read_rows(path) == [{"a": 1}]
    add_row(path, {"a": 2})
    assert read_rows(path) == [{"a": 1}, {"a": 2}]


def test_faults_that_were_found_are_drawn(tmp_path: Path) -> None:
    runs = recall_faults.curves(FAULT_ROWS, ["mcmc", "random"])
    assert [sampler_plots.values_of(run, "faults")[-1] for run in runs] == [2, 2, 1, 1]
    draw(runs, tmp_path / "faults.svg")
    assert "seeded faults" in (tmp_path / "faults.svg").read_text()


def test_the_curves_are_drawn(tmp_path: Path) -> None:
    draw(RUNS, tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
