"""Keeping a campaign: checkpoints, figures over time, and the exchange with other members.

The key insight: the search is a function of what it knows, so a campaign continues exactly from a
checkpoint that holds all of that, and repeats by itself what came after it. The checkpoint need not
be fresh, only whole; what must not be lost in between - sequences, findings, alarms that nobody has
decided - is on disk anyway.
"""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import msgpack

import rondo
from rondo.campaign.artifacts import UNCONFIRMED, Artifacts
from rondo.campaign.driver import Campaign, Job, Keeper, Progress
from rondo.campaign.exchange import EVERY, Exchange, Seen
from rondo.campaign.folder import Member
from rondo.campaign.graph import GraphError, Reader, Writer
from rondo.campaign.pieces import map_pieces
from rondo.campaign.status import figures
from rondo.errors import ArtifactError, CampaignError
from rondo.findings.reproducer import write_with
from rondo.search.baselines import Seeds
from rondo.search.behaviour import BehaviourLedger
from rondo.search.corpus import Corpus, Entry
from rondo.search.sampler import Sampler, SearchState
from rondo.sequences.blocks import BlockLibrary
from rondo.sequences.codec import CodecError, decode_strict, encode
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.vocabulary import Vocabulary

FORMAT = "rondo-checkpoint"
FORMAT_VERSION = 7
ANEW = "start a campaign without --resume: it goes on from the same corpus"
SUM = 16
"""Bytes of the checksum in front."""
SECONDS = 30.0
"""Seconds between two checkpoints: what a killed driver does again."""
SHARE = 0.02
"""Share of the time that checkpoints may take; they come more seldom when they take long."""
DERIVED = (BlockLibrary, SequenceDistribution, Seeds)
"""What samplers hold that follows from the rest."""


@dataclass
class FolderKeeper(Keeper):
    """Keeps a campaign in its member's subfolder."""

    member: Member = field(kw_only=True)
    exchange: Exchange = field(kw_only=True)
    _due: float = field(default_factory=lambda: time.monotonic() + SECONDS)
    _findings: int = 0
    _exchanged: int = 0

    @property
    def name(self) -> str:
        """The member's number."""
        return self.member.name

    def begin(self, campaign: Campaign) -> None:
        """Save before anything is found: a continued campaign begins from no other seeds."""
        if not self.member.checkpoint.exists():
            self.save(campaign)

    def tick(self, campaign: Campaign) -> None:
        """Exchange and save when it is time to, and at once after a finding."""
        super().tick(campaign)
        executions = campaign.stats.executions
        if executions >= self._exchanged + EVERY:
            self._exchanged = executions
            self._trade(campaign)
        if time.monotonic() >= self._due or campaign.stats.findings != self._findings:
            self.save(campaign)

    def _trade(self, campaign: Campaign) -> None:
        known = set(self.exchange.damaged)
        if self.member.siblings():
            self.exchange.publish()
        taken = self.exchange.take()
        if taken:
            campaign.status.info(f"{taken} sequences taken over from the corpus folder")
        for name in sorted(self.exchange.damaged - known):
            campaign.status.info(f"corpus file {name} is damaged and left alone")

    def save(self, campaign: Campaign) -> None:
        """Write the checkpoint, the figures and what others may use."""
        began = time.monotonic()
        seen = self.exchange.seen
        write_with(self.member.checkpoint, lambda file: write_checkpoint(file, campaign, seen))
        self._add_figures(campaign)
        self.exchange.publish()
        self._findings = campaign.stats.findings
        took = time.monotonic() - began
        self._due = began + max(SECONDS, took / SHARE)

    def _add_figures(self, campaign: Campaign) -> None:
        line = json.dumps({"time": round(time.time(), 1), **figures(campaign.snapshot())})
        try:
            with self.member.stats.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            raise ArtifactError(f"cannot write {self.member.stats}: {error.strerror}") from None


def digest(vocabulary: Vocabulary) -> str:
    """Return what tells one vocabulary from another."""
    return blake2b(repr(vocabulary).encode(), digest_size=8).hexdigest()


def write_checkpoint(file: BinaryIO, campaign: Campaign, seen: Seen) -> None:
    """Write a checkpoint of `campaign` into an empty file.

    Piece by piece: what a campaign knows would be in memory several times otherwise. The checksum
    in front is filled in at the end.
    """
    checksum = blake2b(digest_size=SUM)
    file.write(bytes(SUM))
    for piece in _pieces(campaign, seen):
        checksum.update(piece)
        file.write(piece)
    file.seek(0)
    file.write(checksum.digest())


def _pieces(campaign: Campaign, seen: Seen) -> Iterator[bytes]:
    state, progress = campaign.state, campaign.progress
    progress.lines = campaign.lines.told()
    writer = Writer(_outside(state))
    sampler = {
        name: writer.write(value)
        for name, value in vars(campaign.sampler).items()
        if not isinstance(value, DERIVED)
    }
    record: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "rondo": rondo.__version__,
        "vocabulary": digest(campaign.vocabulary),
        "seconds": progress.seconds + campaign.stop.elapsed,
        "unsaved": state.corpus.unsaved,
        "counts": state.ledger.counts.to_bytes(),
        "sampler": sampler,
        "alarms": writer.write(state.alarms),
        "progress": writer.write(progress),
        "seen": writer.write(seen),
    }
    packer = msgpack.Packer()
    yield packer.pack_map_header(len(record) + 2)
    for name, value in record.items():
        yield packer.pack(name)
        yield packer.pack(value)
    yield packer.pack("labels")
    yield from map_pieces(state.ledger.labels.items(), len(state.ledger.labels))
    yield packer.pack("corpus")
    yield packer.pack_array_header(len(state.corpus))
    for entry in state.corpus.in_order():
        yield packer.pack(_entry_as_data(entry))


def _entry_as_data(entry: Entry) -> list[Any]:
    shown = None if entry.shown is None else list(entry.shown)
    return [entry.name, entry.data, entry.seed, list(entry.first), shown, entry.work]


def _outside(state: SearchState) -> dict[str, object]:
    return {"state": state, "corpus": state.corpus, "ledger": state.ledger}


class Checkpoint:
    """A checkpoint that was read. Raises CampaignError when it is damaged or another's."""

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        self._path = path
        self._vocabulary = vocabulary
        try:
            content = path.read_bytes()
            # Half a chain must not be taken for a whole one.
            if content[:SUM] != blake2b(content[SUM:], digest_size=SUM).digest():
                raise ValueError("its checksum does not match")
            record = msgpack.unpackb(content[SUM:], strict_map_key=False)
            if record["format"] != FORMAT:
                raise ValueError("it is no checkpoint")
            version, by = record["version"], record["rondo"]
            same = record["vocabulary"] == digest(vocabulary)
        except (OSError, ValueError, TypeError, KeyError, msgpack.UnpackException) as error:
            raise CampaignError(f"{path} is damaged: {error}; {ANEW}") from None
        if version != FORMAT_VERSION:
            raise CampaignError(f"{path} was made by another version of Rondo ({by}); {ANEW}")
        if not same:
            raise CampaignError(f"{path} was made with other subjects than there are now; {ANEW}")
        self._record = record

    def search(self, corpus: Corpus, *, max_length: int) -> SearchState:
        """Return the state of the search, with all entries put into `corpus`."""
        record = self._record
        try:
            unsaved = set(record["unsaved"])
            for name, data, seed, first, shown, work in record["corpus"]:
                corpus.decode(data)
                known = None if shown is None else array("Q", shown)
                claimed = array("Q", first)
                entry = Entry(name, data, corpus.decode, seed, claimed, known, float(work))
                corpus.put(entry, unsaved=name in unsaved)
            counts = type(BehaviourLedger().counts).from_bytes(record["counts"])
            labels = {int(hash_): str(label) for hash_, label in record["labels"].items()}
        except (ValueError, TypeError, KeyError, OverflowError, CodecError) as error:
            raise CampaignError(f"{self._path} is damaged: {error}") from None
        ledger = BehaviourLedger(counts, labels)
        return SearchState.begin(corpus.vocabulary, corpus, ledger=ledger, max_length=max_length)

    def restore(self, sampler: Sampler, state: SearchState) -> tuple[Progress, Seen]:
        """Put what `sampler` knew back into it; return the progress and what was taken over."""
        record = self._record
        reader = Reader(_outside(state), self._vocabulary)
        try:
            for name, value in record["sampler"].items():
                setattr(sampler, name, reader.read(value))
            state.alarms = reader.read(record["alarms"])
            progress = reader.read(record["progress"])
            seen = reader.read(record["seen"])
            progress.seconds = float(record["seconds"])
            progress.waiting.extendleft(reversed(progress.running.values()))
            progress.running.clear()
            progress.register.reopen()
            if not all(
                isinstance(p, str) and isinstance(n, bytes) for p, n in progress.lines.items()
            ):
                raise ValueError("its lines are none")
        except (GraphError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise CampaignError(f"{self._path} is damaged: {error}") from None
        if not (isinstance(progress, Progress) and isinstance(seen, Seen)):
            raise CampaignError(f"{self._path} is damaged: it tells of no progress")
        return progress, seen


def revisits(artifacts: Artifacts, progress: Progress, vocabulary: Vocabulary) -> list[Job]:
    """Return jobs for alarms that nobody had decided when a driver was killed.

    Those that the checkpoint has decided are taken away: the driver came no more to it.
    """
    known = {case.data for case in progress.register.undecided()}
    known.update(encode(job.sequence) for job in progress.waiting)
    decided = {(str(identity), *where) for identity, *where in progress.register.met}
    jobs = []
    for path in sorted((artifacts.folder / UNCONFIRMED).glob("*.seq")):
        try:
            data = path.read_bytes()
            sequence = decode_strict(data, vocabulary)
        except (OSError, CodecError):
            continue
        if data in known:
            continue
        subject = sequence.subject
        where = subject.architecture, tuple(sorted(subject.constructs))
        noted = artifacts.notes_of(path)
        if noted and all((each, *where) in decided for each in noted):
            artifacts.forget(UNCONFIRMED, data)
        else:
            jobs.append(Job(sequence, proposed=False, search=False))
    return jobs
