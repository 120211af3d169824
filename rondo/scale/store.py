"""The store: what campaigns on different machines tell each other, held in one place.

The key insight: campaigns that share a folder (`rondo.campaign.exchange`) add files whose names
follow from their content, take none away but those of alarms that were decided, and each rewrites
one file of its own, with counts that add up. So a store needs a log of files, and of the counts
nothing but their sum: what a campaign is told is the sum less what it has counted itself, which is
as long for a thousand campaigns as for two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgpack

from rondo._native.behaviour import BehaviourMap
from rondo.campaign.exchange import noted, subtracted

Files = dict[str, bytes]
"""Files by their path within a campaign folder."""
GONE = b""
"""Content of a file that was there: an alarm that has been decided."""


@dataclass(slots=True)
class News:
    """What a campaign does not know yet. `position` is where to go on the next time.

    `others` is what all others have published, summed up; None unless it was asked for.
    """

    position: int
    files: Files = field(default_factory=dict)
    others: bytes | None = None


class Store:
    """Holds files and counts. Plain values only, so that it may live in an actor."""

    def __init__(self) -> None:
        self._log: list[tuple[str, str]] = []
        self._files: Files = {}
        self._counts: dict[str, BehaviourMap] = {}
        self._sum = BehaviourMap()
        self._labels: dict[int, str] = {}
        self._first: dict[str, list[int]] = {}

    def trade(self, name: str, position: int, files: Files, published: bytes | None = None) -> News:
        """Take what the campaign `name` has found and return what others have, since `position`.

        One call instead of two: on a cluster each is a message. A path that is known stays as it
        is, so that every campaign sees one and the same finding in a bucket, but one that is GONE.
        Who publishes its counts is told those of the others.
        """
        for path, content in files.items():
            if (self._files.get(path, GONE) == GONE) != (content == GONE):
                self._files[path] = content
                self._log.append((name, path))
        new = {path for giver, path in self._log[position:] if giver != name}
        found = {path: self._files[path] for path in sorted(new)}
        others = None if published is None else self._add(name, msgpack_map(published))
        return News(len(self._log), found, others)

    def _add(self, name: str, record: dict[str, Any]) -> bytes:
        """Put the counts of `name` into the sum; return what is left of it without them."""
        own = BehaviourMap.from_bytes(record["map"])
        self._sum.merge(noted(self._counts, name, own))
        self._labels.update(record["labels"])
        self._first.update(record["first"])
        left = subtracted(self._sum, [self._counts[name]])
        labels = {hash_: self._labels[hash_] for hash_ in left if hash_ not in own}
        first = {entry: each for entry, each in self._first.items() if entry not in record["first"]}
        packed: bytes = msgpack.packb({"map": left.to_bytes(), "labels": labels, "first": first})
        return packed


def msgpack_map(data: bytes) -> dict[str, Any]:
    """Return the map that `data` holds."""
    record: dict[str, Any] = msgpack.unpackb(data, strict_map_key=False)
    return record
