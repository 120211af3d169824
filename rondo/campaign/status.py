"""What a campaign says while it runs: libFuzzer's lines for logs, JSON lines for tools.

The key insight: scripts that read libFuzzer's output should read ours, so the lines keep its shape
- `#runs`, a tab, the event, then `name: value` - and go to standard error as its do. The live
display for people is in `live`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TextIO


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The figures of one moment, ready to be shown."""

    executions: int
    behaviours: int
    corpus: int
    corpus_bytes: int
    seconds: float
    resident_bytes: int
    findings: int
    lines: int = 0
    alarms: int = 0
    flaky: int = 0
    acceptance: float = 0.0
    findings_by_verdict: Mapping[str, int] | None = None
    time_shares: Mapping[str, float] | None = None
    earlier_seconds: float = 0.0
    """What of `seconds` earlier commands took, where this one continues a campaign."""

    @property
    def rate(self) -> float:
        """Executions per second."""
        return self.executions / self.seconds if self.seconds else 0.0

    def line(self, event: str) -> str:
        """Return this moment as a libFuzzer line. `cov` is left out until lines are traced."""
        parts = [f"#{self.executions}\t{event:<6}"]
        if self.lines:
            parts.append(f"cov: {self.lines}")
        rate = f"{self.rate:.0f}" if self.rate >= 10 else f"{self.rate:.1f}"
        parts += [
            f"beh: {self.behaviours}",
            f"corp: {self.corpus}/{size_text(self.corpus_bytes)}",
            f"exec/s: {rate}",
            f"rss: {self.resident_bytes >> 20}Mb",
            f"finds: {self.findings}",
        ]
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class FindingNote:
    """A finding as it is told: what, where it lies, how short it became.

    `shortened` is False where the campaign ended first, or the shorter form did not hold.
    """

    bucket: str
    path: str
    steps: int
    execution: int
    shortened: bool = True

    @property
    def size(self) -> str:
        """How long it is, in words."""
        return f"{self.steps} steps" if self.shortened else f"{self.steps} steps, not shortened"


def size_text(size: int) -> str:
    """Return a size as libFuzzer writes it: `412b`, `3Kb`, `2Mb`."""
    if size < 1 << 10:
        return f"{size}b"
    return f"{size >> 10}Kb" if size < 1 << 20 else f"{size >> 20}Mb"


class Status(Protocol):
    """Shows events as they happen."""

    def event(self, name: str, snapshot: Snapshot) -> None:
        """Show that `name` happened: INITED, NEW, pulse, DONE."""

    def update(self, snapshot: Snapshot, doing: str) -> None:
        """Offer the present figures; shown only where a display is redrawn."""

    def finding(self, note: FindingNote, snapshot: Snapshot) -> None:
        """Show a new finding."""

    def info(self, text: str) -> None:
        """Show a line of text."""

    def final(self, stats: Mapping[str, int | float]) -> None:
        """Show the final statistics."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class PlainStatus:
    """Lines on standard error. `verbosity` 0 shows findings only."""

    def __init__(self, *, verbosity: int = 1, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._verbosity = verbosity

    def event(self, name: str, snapshot: Snapshot) -> None:
        """Print libFuzzer's line."""
        if self._verbosity:
            self._print(snapshot.line(name))

    def update(self, snapshot: Snapshot, doing: str) -> None:
        """Print what is being done, at verbosity 2."""
        if self._verbosity > 1:
            self._print(f"#{snapshot.executions}\t{doing}")

    def finding(self, note: FindingNote, snapshot: Snapshot) -> None:
        """Print the finding."""
        self._print(f"#{note.execution}\tFIND   {note.bucket} ({note.size}): {note.path}")

    def info(self, text: str) -> None:
        """Print the line as libFuzzer does."""
        if self._verbosity:
            self._print(f"INFO: {text}")

    def final(self, stats: Mapping[str, int | float]) -> None:
        """Print one `stat::` line each."""
        for name, value in stats.items():
            self._print(f"stat::{name + ':':<26} {value}")

    def close(self) -> None:
        """Write out what is buffered."""
        self._stream.flush()

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class JsonStatus:
    """One JSON object a line on standard output."""

    def __init__(self, *, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def event(self, name: str, snapshot: Snapshot) -> None:
        """Print the figures under the event's name."""
        self._print({"event": name.lower(), **figures(snapshot)})

    def update(self, snapshot: Snapshot, doing: str) -> None:
        """Nothing is redrawn here."""

    def finding(self, note: FindingNote, snapshot: Snapshot) -> None:
        """Print the finding with the figures."""
        told = {"bucket": note.bucket, "path": note.path, "steps": note.steps}
        told["shortened"] = note.shortened
        self._print({"event": "finding", **told, **figures(snapshot)})

    def info(self, text: str) -> None:
        """Print the text."""
        self._print({"event": "info", "text": text})

    def final(self, stats: Mapping[str, int | float]) -> None:
        """Print all statistics in one object."""
        self._print({"event": "stats", **stats})

    def close(self) -> None:
        """Write out what is buffered."""
        self._stream.flush()

    def _print(self, fields: dict[str, Any]) -> None:
        print(json.dumps(fields), file=self._stream, flush=True)


def figures(snapshot: Snapshot) -> dict[str, Any]:
    """Return the figures of one moment as plain data."""
    return {
        "executions": snapshot.executions,
        "behaviours": snapshot.behaviours,
        "lines": snapshot.lines,
        "corpus": snapshot.corpus,
        "corpus_bytes": snapshot.corpus_bytes,
        "seconds": round(snapshot.seconds, 3),
        "resident_bytes": snapshot.resident_bytes,
        "findings": snapshot.findings,
        "alarms": snapshot.alarms,
        "flaky": snapshot.flaky,
        "acceptance": round(snapshot.acceptance, 3),
        "findings_by_verdict": dict(snapshot.findings_by_verdict or {}),
        "time_shares": {k: round(v, 3) for k, v in (snapshot.time_shares or {}).items()},
    }
