"""What a bench has found so far, as lines of JSON, so that it goes on after it was ended."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return what `add_row` has written to `path`, but for a row that was cut off.

    What was cut off is ended, so that the next row is not drawn into it.
    """
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    if text and not text.endswith("\n"):
        with path.open("a") as file:
            file.write("\n")
    rows = []
    for line in text.splitlines():
        with suppress(ValueError):
            rows.append(json.loads(line))
    return rows


def add_row(path: Path, row: dict[str, Any]) -> None:
    """Write a row at the end of `path`, which need not be there."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
