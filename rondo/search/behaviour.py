"""The ledger of behaviours: how often each was seen in the campaign, and what its hash stands for.

The key insight: guidance needs counts, people need words. Counts live in the native map, sixteen
bytes each; the words are kept once per hash, beside it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from rondo._native.behaviour import BehaviourMap

MAP_FILE = "behaviours.map"
LABELS_FILE = "behaviours.jsonl"


class BehaviourLedger:
    """Counts and labels of every behaviour that the campaign has seen."""

    def __init__(
        self, counts: BehaviourMap | None = None, labels: Mapping[int, str] | None = None
    ) -> None:
        self.counts = BehaviourMap() if counts is None else counts
        self.labels = dict(labels or {})

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def executions(self) -> int:
        """How many executions were recorded."""
        return int(self.counts.executions)

    def record(self, behaviours: Mapping[int, str]) -> frozenset[int]:
        """Count one execution that showed `behaviours`; return those never seen before."""
        self.counts.note_execution()
        new = frozenset(hash_ for hash_ in behaviours if self.counts.add(hash_) == 1)
        self.labels.update((hash_, behaviours[hash_]) for hash_ in new)
        return new

    def energy(self, behaviours: Iterable[int]) -> float:
        """Return the summed rarity of `behaviours`, in nats.

        A behaviour that c of n executions showed has rarity log((n + 1) / (c + 1)): one that every
        execution shows counts nothing, and the sum does not grow with what is common. `fsum` makes
        it independent of the order.
        """
        return math.fsum(map(self.counts.rarity, behaviours))

    def save(self, folder: Path) -> None:
        """Write counts and labels into `folder`; readers never see half a file."""
        lines = [
            json.dumps({"hash": f"{hash_:016x}", "label": label}) + "\n"
            for hash_, label in sorted(self.labels.items())
        ]
        temporary = folder / f".{LABELS_FILE}.part"
        temporary.write_text("".join(lines), encoding="utf-8")
        temporary.replace(folder / LABELS_FILE)
        self.counts.save(folder / MAP_FILE)

    @classmethod
    def load(cls, folder: Path) -> BehaviourLedger:
        """Read what `save` wrote. Raises ValueError on a damaged file, OSError on a missing one."""
        counts = BehaviourMap.load(folder / MAP_FILE)
        labels: dict[int, str] = {}
        for number, line in enumerate(
            (folder / LABELS_FILE).read_text(encoding="utf-8").splitlines(), 1
        ):
            try:
                record = json.loads(line)
                labels[int(record["hash"], 16)] = str(record["label"])
            except (ValueError, KeyError, TypeError) as error:
                place = f"{folder / LABELS_FILE}:{number}"
                raise ValueError(f"{place}: not a labelled behaviour") from error
        return cls(counts, labels)
