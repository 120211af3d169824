"""Growth as line charts: matplotlib's SVG inline, so that a page needs neither network nor files.

The key insight: a discovery curve is a staircase - a figure holds until the next event - so it is
drawn as one, and what matters is read off its end and its slope. Colours are the page's own: what
matplotlib writes for them are names that nothing else has, and each gives way to a variable of the
style sheet, so that a chart is read in the dark as well.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rondo.report.collect import Curve, Points

INCHES = (4.4, 2.3)
MOST_POINTS = 400
"""Points of one line that are drawn: more than pixels would only make the page larger."""
MOST_NAMES = 6
"""Colours that the style sheet has for lines, and rows of a legend that leave room for them."""

VARIABLES = {
    "#010101": "var(--soft)",
    "#010102": "var(--rule)",
    "#010103": "var(--card)",
    "#020200": "var(--accent)",
    **{f"#02020{number}": f"var(--line{number})" for number in range(1, MOST_NAMES)},
}
"""What matplotlib is told for a colour, and the variable of `page.css` that takes its place."""
SOFT, RULE, CARD, *LINES = VARIABLES

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text, in the page's font
    "axes.edgecolor": RULE,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "text.color": SOFT,
    "grid.color": RULE,
    "font.size": 8,
}
NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))
"""Keeps matplotlib from describing the file, with links to vocabularies and the time of day."""

PROLOGUE = re.compile(r"\A.*?(?=<svg )|<style.*?</style>|<!--.*?-->|<metadata>.*?</metadata>", re.S)
NAMESPACE = re.compile(r' xmlns(:\w+)?="[^"]*"')
"""In a page they are understood, and whoever looks for links finds none."""
NUMBERED = re.compile(r' id="[\w.]*_\d+"')
"""Names that matplotlib gives to groups: the same in each chart, and nothing refers to them."""


def growth_chart(curves: Sequence[Curve], *, label: str) -> Markup:
    """Return one chart: each of `curves` as a staircase over seconds, from zero upwards.

    Curves of one name have one colour; several names have a legend.
    """
    drawn = [curve for curve in curves if curve.points]
    unit, seconds_per_unit = time_unit(max((c.points[-1][0] for c in drawn), default=0.0))
    with rc_context({**STYLE, "svg.hashsalt": label}):
        figure = Figure(figsize=INCHES, layout="constrained", facecolor="none")
        axes = figure.subplots()
        names = list(dict.fromkeys(curve.name for curve in drawn))
        for curve in drawn:
            seconds, values = zip(*thinned(curve.points), strict=True)
            colour = LINES[names.index(curve.name) % MOST_NAMES]
            scaled = [each / seconds_per_unit for each in seconds]
            style: dict[str, Any] = {"color": colour, "clip_on": False}
            axes.plot(scaled, values, drawstyle="steps-post", linewidth=1.5, **style)
            axes.plot(scaled[-1], values[-1], "o", markeredgecolor=CARD, markersize=5, **style)
        if len(names) > 1:
            for number, name in enumerate(names[:MOST_NAMES]):
                axes.plot([], [], color=LINES[number], label=name)
            axes.legend(frameon=False)
        _furnish(axes, unit)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata=NOTHING)
    return _inline(written.getvalue(), label, _ends(drawn))


def _furnish(axes: Axes, unit: str) -> None:
    """Set scales, ticks and what is left of a frame."""
    axes.set_facecolor("none")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(unit)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="y", clip_on=False)
    axes.tick_params(length=0)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    # All figures are counts: there is no half a finding.
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


def _inline(svg: str, label: str, ends: Iterable[str]) -> Markup:
    """Return matplotlib's `svg` as a part of a page: named for those who do not see it."""
    for left_out in (PROLOGUE, NAMESPACE, NUMBERED):
        svg = left_out.sub("", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    named = f"{label} over time: {', '.join(ends)}"
    return Markup(
        svg.replace("<svg ", f'<svg class="plot" role="img" aria-label="{escape(named)}" ', 1)
        .replace("\n", " ")
        .strip()
    )


def _ends(curves: Iterable[Curve]) -> Iterable[str]:
    """Return in words where each curve ends."""
    for curve in curves:
        seconds, value = curve.points[-1]
        yield f"{curve.name} {short_number(value)} after {seconds:.0f} s".strip()


def time_unit(seconds: float) -> tuple[str, float]:
    """Return the unit in which to write times up to `seconds`, and its seconds."""
    if seconds < 180:
        return "s", 1.0
    return ("min", 60.0) if seconds < 3 * 3600 else ("h", 3600.0)


def short_number(value: float) -> str:
    """Return a number in at most five characters: 950, 1.2k, 34k, 5.6M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            scaled = value / size
            return f"{scaled:.0f}{letter}" if scaled >= 10 else f"{scaled:.3g}{letter}"
    return f"{value:.3g}"


def thinned(points: Points) -> Points:
    """Return at most about MOST_POINTS of `points`, the first and the last among them."""
    if len(points) <= MOST_POINTS:
        return points
    stride = math.ceil(len(points) / MOST_POINTS)
    kept = list(points[::stride])
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]
