"""What the comparison of samplers makes of its runs, on runs that are written by hand."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import sampler as bench  # noqa: E402  (a script of the bench, not a package)


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


def test_the_last_line_tells_figure_and_target() -> None:
    assert bench.verdict(0.41) == (
        "mcmc has random's behaviours after 41% of its time (target <= 60%)"
    )
    assert "did not reach" in bench.verdict(math.inf)


def test_the_curves_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from sampler_plots import draw

    draw(RUNS, tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
