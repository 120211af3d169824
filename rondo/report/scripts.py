"""The script of a finding, as `rondo export` writes it, or its sequence in words.

The key insight: a page must come out whatever else is there. A script needs the framework, the very
subjects that the finding was made with, and runs that show the bug: half a minute each. So one that
was written before is shown, others are written only when asked for and kept for next time, and
where the exporter refuses, the sequence in words says the same to a reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rondo.errors import RondoError
from rondo.findings.reproducer import Reproducer, write_atomically

FILE = "script.py"
"""Where a finding's script is kept, beside its reproducer."""


@dataclass(frozen=True, slots=True)
class Script:
    """Text to show for a finding; `runnable` tells a Python script from a description.

    `refused` says why there is no script although one was asked for.
    """

    text: str
    runnable: bool
    refused: str = ""


def script_of(path: Path, reproducer: Reproducer, *, write: bool = False) -> Script:
    """Return the script of the reproducer at `path`, written now with `write` if it has none."""
    kept = path.parent / FILE
    refused = ""
    if write and not kept.is_file():
        refused = _write(path, kept)
    if kept.is_file():
        return Script(kept.read_text(encoding="utf-8", errors="replace"), runnable=True)
    from rondo.commands.show import decoded_lines

    return Script("\n".join(decoded_lines(reproducer.decoded)), runnable=False, refused=refused)


def _write(path: Path, kept: Path) -> str:
    """Write the script of `path` to `kept`; return why there is none, or an empty text."""
    from rondo.campaign.exporting import export_file

    try:
        write_atomically(kept, export_file(path).text.encode())
    except RondoError as error:
        return str(error)
    return ""
