"""Curves of `bench/sampler.py`: counts over time and over executions, one panel each.

A line is the median over seeds, the band around it their range; both are steps, since a count
holds until the next moment.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLUMNS = ("cpu", "wall", "executions", "behaviours", "lines", "findings", "live")
AXES = {"cpu": "CPU seconds", "executions": "executions"}
COUNTS = {
    "behaviours": "behaviours",
    "lines": "compiler lines",
    "findings": "findings",
    "live": "live bugs",
}
COLOURS = {"mcmc": "#0072b2", "random": "#d55e00", "stateless": "#999999", "nnsmith": "#009e73"}
"""Okabe and Ito's, which everybody can tell apart."""
POINTS = 200


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Draw all panels that have something to show into `path` (its suffix says the format)."""
    counts = [c for c in COUNTS if any(run["moments"][-1][COLUMNS.index(c)] for run in runs)]
    figure, panels = plt.subplots(
        len(counts), len(AXES), figsize=(4.6 * len(AXES), 3.0 * len(counts)), squeeze=False
    )
    samplers = list(dict.fromkeys(run["sampler"] for run in runs))
    for row, count in zip(panels, counts, strict=True):
        for panel, axis in zip(row, AXES, strict=True):
            for sampler in samplers:
                own = [run["moments"] for run in runs if run["sampler"] == sampler]
                _curve(panel, own, axis, count, sampler)
            panel.set_xlabel(AXES[axis])
            panel.set_ylabel(COUNTS[count])
            panel.set_xlim(left=0)
            panel.set_ylim(bottom=0)
            panel.spines[["top", "right"]].set_visible(False)
    panels[0][0].legend(frameon=False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def _curve(panel: Any, own: list[list[list[float]]], axis: str, count: str, sampler: str) -> None:
    along, index = COLUMNS.index(axis), COLUMNS.index(count)
    end = min(moments[-1][along] for moments in own)
    places = [end * n / POINTS for n in range(POINTS + 1)]
    values = [[_at(moments, place, along, index) for moments in own] for place in places]
    colour = COLOURS[sampler]
    middle = [statistics.median(each) for each in values]
    panel.plot(places, middle, color=colour, label=sampler, drawstyle="steps-post")
    low, high = [min(each) for each in values], [max(each) for each in values]
    panel.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0, step="post")


def _at(moments: list[list[float]], place: float, along: int, index: int) -> float:
    """Return the count that held at `place`."""
    number = bisect_right([row[along] for row in moments], place)
    return moments[number - 1][index] if number else 0.0
