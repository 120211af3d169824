"""A member's figures over time, as they are read back.

The key insight: figures are lines that are only ever added, so whoever reads them disturbs nobody;
a last line that is cut off is one that is being written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rondo.errors import CampaignError

COLUMNS = ("executions", "behaviours", "lines", "corpus", "findings", "alarms", "flaky")
"""Figures that tables show: whole numbers, all of them."""

LONGEST = 1e12
"""Seconds that no campaign takes; infinity, and what is no number, take no less."""


def last_figures(path: Path) -> dict[str, Any]:
    """Return the last whole line of a file of figures; nothing when there is none yet.

    Raises CampaignError when it holds lines and none of them is one of figures.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    for line in reversed(text.splitlines()):
        try:
            figures = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(figures, dict) and _are_numbers(figures):
            return figures
    if "\n" in text:
        raise CampaignError(f"{path} is damaged: no line of it is one of figures")
    return {}


def _are_numbers(figures: dict[str, Any]) -> bool:
    seconds = figures.get("seconds", 0)
    return (
        type(seconds) in (int, float)
        and abs(seconds) < LONGEST
        and all(type(figures.get(name, 0)) is int for name in COLUMNS)
    )
