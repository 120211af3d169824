"""Growth as line charts: inline SVG, so that a page needs no network, no script and no image files.

The key insight: a discovery curve is a staircase - a figure holds until the next event - so it is
drawn as one, and what matters is read off its end and its slope. A plotting library would bring
fonts, sizes and colours of its own into a page that has to be read on a phone and in the dark; the
two dozen lines of geometry here take theirs from the page's style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 26
MOST_POINTS = 400
"""Points of one line that are drawn: more than pixels would only make the page larger."""

Series = Sequence[tuple[float, float]]


def growth_chart(lines: Sequence[Series], *, label: str) -> Markup:
    """Return one chart: each of `lines` as a staircase over seconds, from zero upwards."""
    most_seconds = max((line[-1][0] for line in lines if line), default=0.0) or 1.0
    most = max((value for line in lines for _, value in line), default=0.0) or 1.0
    step = max(1.0, nice_step(most))  # all figures are counts: there is no half a finding
    top = step * math.ceil(most / step)
    unit, seconds_per_unit = time_unit(most_seconds)

    def x(seconds: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * seconds / most_seconds, 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 1)

    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(label)} over time">'
    ]
    for number in range(round(top / step) + 1):
        value = number * step
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value)}" y2="{y(value)}"/>'
            f'<text class="tick" x="{LEFT - 6}" y="{y(value) + 4}" text-anchor="end">'
            f"{short_number(value)}</text>"
        )
    time_step = nice_step(most_seconds / seconds_per_unit)
    for number in range(int(most_seconds / seconds_per_unit / time_step + 1e-9) + 1):
        at = number * time_step
        anchor = "start" if not number else "middle"
        parts.append(
            f'<text class="tick" x="{x(at * seconds_per_unit)}" y="{HEIGHT - 8}"'
            f' text-anchor="{anchor}">{short_number(at)}{f" {unit}" if not number else ""}</text>'
        )
    for number, line in enumerate(lines):
        if line:
            points = thinned(line)
            steps = [f"M{x(points[0][0])} {y(points[0][1])}"]
            steps += [f"H{x(seconds)}V{y(value)}" for seconds, value in points[1:]]
            last = points[-1]
            parts.append(f'<path class="line line{number % 6}" d="{"".join(steps)}"/>')
            parts.append(
                f'<circle class="end line{number % 6}" cx="{x(last[0])}" cy="{y(last[1])}" r="3">'
                f"<title>{short_number(last[1])} after {last[0]:.0f} s</title></circle>"
            )
    parts.append("</svg>")
    return Markup("".join(parts))


def nice_step(most: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that divides `most` into two to five."""
    raw = most / 4
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    return float(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999))


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


def thinned(line: Series) -> Series:
    """Return at most about MOST_POINTS points of `line`, its first and last among them."""
    if len(line) <= MOST_POINTS:
        return line
    stride = math.ceil(len(line) / MOST_POINTS)
    kept = list(line[::stride])
    return kept if kept[-1] == line[-1] else [*kept, line[-1]]
