"""A campaign's status, written down as it is shown.

The key insight: what a report needs of a campaign's course is exactly what a person is shown of it.
So the record is one more display: it stands in front of the one that people see and passes
everything on.
"""

from __future__ import annotations

from collections.abc import Mapping
from os.path import basename
from pathlib import Path

from rondo.campaign.settings import Settings
from rondo.campaign.status import FindingNote, Snapshot, Status
from rondo.report.record import FOLDER, Record
from rondo.search.behaviour import BehaviourLedger

PULSE_SECONDS = 30.0
"""Seconds after which a moment is written down although nothing happened."""


class RecordedStatus:
    """Shows everything on `inner` and keeps growth and behaviours in `folder`."""

    def __init__(self, inner: Status, record: Record, ledger: BehaviourLedger) -> None:
        self._inner = inner
        self._record = record
        self._ledger = ledger
        self._noted = 0.0

    def event(self, name: str, snapshot: Snapshot) -> None:
        """Write the figures down; at the end the ledger too."""
        self._note(snapshot)
        if name == "DONE":
            self._record.save_ledger(self._ledger)
        self._inner.event(name, snapshot)

    def update(self, snapshot: Snapshot, doing: str) -> None:
        """Write down a moment and the ledger now and then."""
        if snapshot.seconds - self._noted >= PULSE_SECONDS:
            self._note(snapshot)
        self._record.save_ledger_now_and_then(self._ledger)
        self._inner.update(snapshot, doing)

    def finding(self, note: FindingNote, snapshot: Snapshot) -> None:
        """Write the figures down."""
        self._note(snapshot)
        self._inner.finding(note, snapshot)

    def info(self, text: str) -> None:
        """Pass it on."""
        self._inner.info(text)

    def final(self, stats: Mapping[str, int | float]) -> None:
        """Pass them on."""
        self._inner.final(stats)

    def close(self) -> None:
        """Pass it on."""
        self._inner.close()

    def _note(self, snapshot: Snapshot) -> None:
        self._noted = snapshot.seconds
        self._record.note(
            {
                "seconds": round(snapshot.seconds, 2),
                "executions": snapshot.executions,
                "behaviours": snapshot.behaviours,
                "lines": snapshot.lines,
                "corpus": snapshot.corpus,
                "findings": snapshot.findings,
                "alarms": snapshot.alarms,
            }
        )


def recorded(
    status: Status,
    folder: Path,
    settings: Settings,
    ledger: BehaviourLedger,
    trees: tuple[str, ...],
    member: str,
) -> Status:
    """Return `status`, recorded below the artifact folder, as of that `member` of the campaign."""
    about = {
        "member": member,
        "framework": settings.framework,
        "sampler": settings.sampler,
        "seed": settings.seed,
        "backends": list(settings.backends),
        "preloads": [basename(path) for path in settings.preloads],
        "subject": settings.subject,
        "trees": list(trees),
    }
    return RecordedStatus(status, Record(folder / FOLDER, about=about), ledger)
