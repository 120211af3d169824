"""What campaigns that share a folder tell each other: sequences, behaviours and known bugs.

The key insight: nobody has to be asked. Sequences and findings are files under names that follow
from their content, and each member publishes its *own* counts of behaviours, which others add up.
A count that came from elsewhere is never published again, so nothing is counted twice however many
members there are, and one that was killed is simply not heard of any more.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgpack
import numpy as np

from rondo._native.behaviour import MAGIC, VERSION, BehaviourMap, hash64
from rondo.campaign.artifacts import Artifacts
from rondo.campaign.corpora import Scope
from rondo.campaign.folder import Member
from rondo.campaign.pieces import map_pieces
from rondo.campaign.register import Register
from rondo.errors import ArtifactError
from rondo.findings.reproducer import write_with
from rondo.search.corpus import SUFFIX
from rondo.search.sampler import SearchState
from rondo.sequences.codec import CodecError, decode_strict

EVERY = 32
"""Executions between two exchanges: counted, so that a lone campaign never looks at a clock."""
LARGEST = 1 << 16
"""No sequence is longer; a file that is, is none."""


@dataclass
class Seen:
    """What was taken over so far; part of the checkpoint."""

    maps: dict[str, BehaviourMap] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)


@dataclass
class Exchange:
    """One member's dealings with the others."""

    corpus: Path
    member: Member
    scope: Scope
    state: SearchState
    artifacts: Artifacts
    register: Register
    seen: Seen = field(default_factory=Seen)
    own: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)
    _published: dict[str, int] = field(default_factory=dict)
    _corpus_time: int = 0

    def __post_init__(self) -> None:
        self.seen.files.update(f"{entry.name}{SUFFIX}" for entry in self.state.corpus)

    def publish(self) -> None:
        """Write down what others may use: own counts, labels, what entries were first to show."""
        own = subtracted(self.state.ledger.counts, self.seen.maps.values())
        labels = self.state.ledger.labels
        told = [(hash_, labels[hash_]) for hash_ in own if hash_ in labels]
        entries = self.state.corpus.in_order()
        claims = [entry for entry in entries if entry.first]

        def write(file: BinaryIO) -> None:
            packer = msgpack.Packer()
            file.write(packer.pack_map_header(3))
            file.write(packer.pack("map") + packer.pack(own.to_bytes()))
            file.write(packer.pack("labels"))
            file.writelines(map_pieces(told, len(told)))
            file.write(packer.pack("first"))
            first = ((entry.name, list(entry.first)) for entry in claims)
            file.writelines(map_pieces(first, len(claims)))

        with suppress(ArtifactError):  # a full disk is noticed where something would be lost
            write_with(self.member.published, write)

    def take(self) -> int:
        """Take over what others have published; return how many sequences came."""
        first: dict[str, list[int]] = {}
        siblings = self.member.siblings()
        for folder in siblings:
            first.update(self._take_behaviours(folder))
        self._take_findings()
        taken = self._take_sequences(alone=not siblings)
        self.state.corpus.claim(first)
        return taken

    def _take_behaviours(self, folder: Path) -> dict[str, list[int]]:
        """Add what `folder`'s member counted since the last time; return its entries' firsts."""
        path = folder / "published"
        try:
            changed = path.stat().st_mtime_ns
            if self._published.get(folder.name) == changed:
                return {}
            record = msgpack.unpackb(path.read_bytes(), strict_map_key=False)
            theirs = BehaviourMap.from_bytes(record["map"])
            labels = {int(hash_): str(label) for hash_, label in record["labels"].items()}
            first = {str(name): list(map(int, each)) for name, each in record["first"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, msgpack.UnpackException):
            return {}  # not there yet, or damaged: the next one is whole
        self._published[folder.name] = changed
        ledger = self.state.ledger
        ledger.counts.merge(noted(self.seen.maps, folder.name, theirs))
        ledger.labels.update(labels)
        return first

    def _take_sequences(self, *, alone: bool) -> int:
        try:
            changed = self.corpus.stat().st_mtime_ns
        except OSError:
            return 0  # noticed where something is to be written
        if changed == self._corpus_time:
            return 0
        self._corpus_time = changed
        found = []
        for path in sorted(self.corpus.glob(f"*{SUFFIX}")):
            if path.name in self.seen.files or path.name.startswith("."):
                continue
            if path.name in self.own and alone:  # it is found again, or taken by the next run
                continue
            self.seen.files.add(path.name)
            try:
                with path.open("rb") as file:
                    data = file.read(LARGEST)
                sequence = self.scope.admit(decode_strict(data, self.state.corpus.vocabulary))
            except (OSError, CodecError):
                if path.exists():
                    self.damaged.add(path.name)
                continue
            if sequence is not None:
                found.append(sequence)
        adopted = self.state.corpus.adopt(found)
        for sequence in adopted:
            self.state.library.add(sequence)
        return len(adopted)

    def _take_findings(self) -> None:
        known = {bucket.name for bucket in self.register.buckets}
        for bucket in self.artifacts.buckets(self.scope.vocabulary, besides=known):
            self.register.buckets[bucket] = None


def noted(known: dict[str, BehaviourMap], name: str, theirs: BehaviourMap) -> BehaviourMap:
    """Return what `theirs` counts beyond what is `known` of that member, and note it there.

    No count falls: a member that was killed goes on from less than it had published, and repeats
    it.
    """
    before = known.get(name)
    if before is None:
        known[name] = theirs
        return theirs
    more = subtracted(theirs, [before])
    before.merge(more)
    return more


def subtracted(counts: BehaviourMap, others: Iterable[BehaviourMap]) -> BehaviourMap:
    """Return `counts` less all `others`; behaviours that are left with nothing go.

    Over the saved form, whose entries are sorted: a store does this for every node.
    """
    kept = _entries(counts).copy()
    executions = counts.executions
    for other in others:
        executions -= other.executions
        theirs = _entries(other)
        at = np.searchsorted(kept[:, 0], theirs[:, 0])
        there = at < len(kept)
        there[there] = kept[at[there], 0] == theirs[there, 0]
        rows = at[there]
        kept[rows, 1] -= np.minimum(kept[rows, 1], theirs[there, 1])
    kept = kept[kept[:, 1] > 0]
    head = struct.pack("<QQQ", VERSION, max(executions, 0), len(kept))
    data = MAGIC + head + kept.tobytes()
    return BehaviourMap.from_bytes(data + struct.pack("<Q", hash64(data)))


def _entries(counts: BehaviourMap) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """Return hashes and counts, sorted by hash: the saved form without head and checksum."""
    words = np.frombuffer(counts.to_bytes(), dtype="<u8")
    entries: np.ndarray[tuple[int, int], np.dtype[np.uint64]] = words[4:-1].reshape(-1, 2)
    return entries
