"""Making behaviour labels that are equal in every process: counts in buckets, texts scrubbed."""

from __future__ import annotations

import re

SPECIFIC = re.compile(r"0x[0-9a-f]+|\b\d[\d.]*(?:e[-+]?\d+)?\b")
QUOTED = re.compile(r"'[^']*(?:/|<)[^']*'")


def bucket(count: int) -> str:
    """Return the power-of-two bucket of a count as text: 0, 1, 2, 3-4, 5-8, 9-16 ..."""
    if count <= 2:
        return str(count)
    high = 1 << (count - 1).bit_length()
    return f"{high // 2 + 1}-{high}"


def scrub(text: str) -> str:
    """Return the first line of `text` without numbers, ids and paths, shortened."""
    line = text.split("  #")[0].strip().split("\n")[0]
    return SPECIFIC.sub("N", QUOTED.sub("'...'", line))[:160]


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, shortened.

    One that only announces the next - `backend='aot_eager' raised:` - is followed by that.
    """
    lines = [line for line in map(str.strip, str(error).split("\n")) if line]
    said = lines[:1]
    while said and said[-1].endswith(":") and lines[len(said) :]:
        said.append(lines[len(said)])
    return " ".join(said)[:200]
