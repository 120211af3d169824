"""What a campaign leaves for its report: growth over time, behaviours, what was asked for.

    record/
      <start>-<pid>.jsonl    a line a moment: seconds and figures; the first says what was asked
      <start>-<pid>/         the ledger of behaviours (counts and labels), written now and then

The key insight: libFuzzer ends its process without a word and a campaign may be killed, so nothing
waits for the end. Lines are appended as things happen, and each process writes files of its own, so
that several may share a folder.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rondo.search.behaviour import BehaviourLedger

FOLDER = "record"
SAVE_SECONDS = 20.0
"""Seconds between two writings of the ledger: what a killed campaign may lose of its counts."""


class Record:
    """One process's part of the record in `folder`."""

    def __init__(self, folder: Path, *, about: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.name = f"{int(time.time())}-{os.getpid()}"
        self._began = time.monotonic()
        self._saved = self._began
        folder.mkdir(parents=True, exist_ok=True)
        self._append({"about": {"began": int(time.time()), **(about or {})}})

    def note(self, figures: Mapping[str, Any]) -> None:
        """Append the figures of this moment."""
        self._append({"seconds": round(time.monotonic() - self._began, 2), **figures})

    def save_ledger(self, ledger: BehaviourLedger) -> None:
        """Write counts and labels of the behaviours. A full disk is no reason to end a campaign."""
        self._saved = time.monotonic()
        folder = self.folder / self.name
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            ledger.save(folder)

    def save_ledger_now_and_then(self, ledger: BehaviourLedger) -> None:
        """Write the ledger if it was not written for a while."""
        if time.monotonic() - self._saved >= SAVE_SECONDS:
            self.save_ledger(ledger)

    def _append(self, line: Mapping[str, Any]) -> None:
        with suppress(OSError), open(self.folder / f"{self.name}.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one process recorded. A line that is cut off, as by a kill, is passed over."""

    name: str
    about: dict[str, Any] = field(default_factory=dict)
    moments: tuple[dict[str, Any], ...] = ()
    ledger: BehaviourLedger = field(default_factory=BehaviourLedger)


def read_records(folder: Path) -> list[Recorded]:
    """Return what was recorded in `folder`, oldest first; what was continued is one record."""
    records: dict[str, Recorded] = {}
    for path in sorted(folder.glob("*.jsonl")):
        record = _read(path)
        key = str(record.about.get("member") or path.stem)
        records[key] = _continued(records[key], record) if key in records else record
    return list(records.values())


def _continued(before: Recorded, after: Recorded) -> Recorded:
    """Return one record of both: figures and counts go on from where the campaign was.

    After a kill that is its last checkpoint: what came behind it was done again.
    """
    if not after.moments:
        return before
    began = after.moments[0]["seconds"]
    kept = tuple(moment for moment in before.moments if moment["seconds"] < began)
    ledger = after.ledger if len(after.ledger) else before.ledger
    return replace(after, name=before.name, moments=(*kept, *after.moments), ledger=ledger)


def _read(path: Path) -> Recorded:
    about: dict[str, Any] = {}
    moments = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and isinstance(line.get("about"), dict):
            about = line["about"]
        elif isinstance(line, dict) and isinstance(line.get("seconds"), int | float):
            moments.append(line)
    ledger = BehaviourLedger()
    with suppress(OSError, ValueError):
        ledger = BehaviourLedger.load(path.with_suffix(""))
    return Recorded(path.stem, about, tuple(moments), ledger)
