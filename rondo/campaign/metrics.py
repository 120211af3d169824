"""Current figures as an OpenMetrics file, for a textfile collector or whatever else scrapes one.

The key insight: a monitoring system asks when it likes, so what it reads must be whole at any
moment: the file is replaced, never written over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from rondo.campaign.status import FindingNote, Snapshot, Status
from rondo.errors import ArtifactError
from rondo.findings.reproducer import write_atomically

SECONDS = 5.0
"""Seconds between two writings at least."""

COUNTERS = {
    "executions": "sequences executed by the search",
    "alarms": "alarms of all kinds",
    "flaky": "alarms that fresh processes did not show twice",
}
GAUGES = {
    "behaviours": "distinct compile behaviours",
    "lines": "lines of the compiler reached",
    "corpus": "sequences in the corpus",
    "corpus_bytes": "size of the corpus",
    "resident_bytes": "memory of the largest worker",
    "acceptance": "share of proposals that a chain accepted",
    "seconds": "time that the campaign has run",
}


def exposition(snapshot: Snapshot) -> str:
    """Return `snapshot` in the OpenMetrics text format."""
    return "\n".join([*_lines(snapshot), "# EOF", ""])


def _lines(snapshot: Snapshot) -> Iterator[str]:
    for name, text in COUNTERS.items():
        yield from _head(name, "counter", text)
        yield f"rondo_{name}_total {getattr(snapshot, name)}"
    for name, text in GAUGES.items():
        yield from _head(name, "gauge", text)
        yield f"rondo_{name} {round(getattr(snapshot, name), 3)}"
    yield from _head("findings", "counter", "confirmed bugs by verdict")
    for verdict, count in sorted((snapshot.findings_by_verdict or {}).items()):
        yield f'rondo_findings_total{{verdict="{verdict}"}} {count}'
    yield from _head("time_share", "gauge", "share of the time by back end, and of triage")
    for backend, share in sorted((snapshot.time_shares or {}).items()):
        yield f'rondo_time_share{{backend="{backend}"}} {share:g}'


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# TYPE rondo_{name} {kind}", f"# HELP rondo_{name} {text}"


class MetricsStatus:
    """Writes the file beside whatever else is shown. Raises ArtifactError where it cannot."""

    def __init__(self, shown: Status, path: Path) -> None:
        write_atomically(path, b"# EOF\n")
        self._shown = shown
        self._path = path
        self._due = 0.0

    def event(self, name: str, snapshot: Snapshot) -> None:
        """Pass on; the end is written at once."""
        self._shown.event(name, snapshot)
        self._write(snapshot, now=name == "DONE")

    def update(self, snapshot: Snapshot, doing: str) -> None:
        """Pass on, and write when it is time to."""
        self._shown.update(snapshot, doing)
        self._write(snapshot)

    def finding(self, note: FindingNote, snapshot: Snapshot) -> None:
        """Pass on; a finding is written at once."""
        self._shown.finding(note, snapshot)
        self._write(snapshot, now=True)

    def info(self, text: str) -> None:
        """Pass on."""
        self._shown.info(text)

    def final(self, stats: Mapping[str, int | float]) -> None:
        """Pass on."""
        self._shown.final(stats)

    def close(self) -> None:
        """Pass on; the file stays."""
        self._shown.close()

    def _write(self, snapshot: Snapshot, *, now: bool = False) -> None:
        if now or time.monotonic() >= self._due:
            self._due = time.monotonic() + SECONDS
            with suppress(ArtifactError):  # figures are never a reason to stop
                write_atomically(self._path, exposition(snapshot).encode())
