"""Curves that compare samplers: counts over time and over executions, one panel each.

A line is the median over seeds, the band around it their range; both are steps, since a count
holds until the next moment.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = ("cpu", "wall", "executions", "behaviours", "lines", "findings", "live")
"""What the numbers of a moment are."""
AXES = {"cpu": "seconds", "executions": "executions"}
COUNTS = {
    "behaviours": "behaviours",
    "lines": "compiler lines",
    "findings": "findings",
    "live": "live bugs",
    "faults": "seeded faults",
}
COLOURS = {"mcmc": "#0072b2", "random": "#d55e00", "stateless": "#999999", "nnsmith": "#009e73"}
"""Okabe and Ito's, which everybody can tell apart."""
POINTS = 120


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Draw all panels that have something to show into `path` (its suffix says the format)."""
    counts = [count for count in COUNTS if any(any(values_of(run, count)) for run in runs)]
    axes = [axis for axis in AXES if any(any(values_of(run, axis)) for run in runs)]
    figure = Figure(figsize=(4.6 * len(axes), 3.0 * len(counts)), layout="constrained")
    panels = figure.subplots(len(counts), len(axes), squeeze=False)
    samplers = list(dict.fromkeys(run["sampler"] for run in runs))
    for row, count in zip(panels, counts, strict=True):
        for panel, axis in zip(row, axes, strict=True):
            for sampler in samplers:
                own = [run for run in runs if run["sampler"] == sampler]
                _curve(panel, own, axis, count, sampler)
            panel.set_xlabel(AXES[axis])
            panel.set_ylabel(COUNTS[count])
            panel.set_xlim(left=0)
            panel.set_ylim(bottom=0)
            panel.spines[["top", "right"]].set_visible(False)
    panels[0][0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The same runs give the same file, with words that can be read and searched for.
    with rc_context({"svg.hashsalt": "rondo", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def values_of(run: dict[str, Any], column: str) -> list[float]:
    """Return a column of a run, a value for each moment."""
    if column in COLUMNS:
        return [row[COLUMNS.index(column)] for row in run["moments"]]
    when = run.get(column, {}).values()  # bugs by name, each with its time
    return [sum(each <= seconds for each in when) for seconds in values_of(run, "cpu")]


def _curve(panel: Axes, own: list[dict[str, Any]], axis: str, count: str, sampler: str) -> None:
    along = [values_of(run, axis) for run in own]
    counted = [values_of(run, count) for run in own]
    end = min(places[-1] for places in along)
    places = [end * n / POINTS for n in range(POINTS + 1)]
    values = [[_at(place, *each) for each in zip(along, counted, strict=True)] for place in places]
    colour = COLOURS[sampler]
    middle = [statistics.median(each) for each in values]
    panel.plot(places, middle, color=colour, label=sampler, drawstyle="steps-post")
    low, high = [min(each) for each in values], [max(each) for each in values]
    panel.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0, step="post")


def _at(place: float, along: list[float], counted: list[float]) -> float:
    """Return the count that held at `place`."""
    number = bisect_right(along, place)
    return counted[number - 1] if number else 0.0
