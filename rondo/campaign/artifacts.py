"""The artifact folder: what is written there, under which names, and what it already holds.

    <bucket>/reproducer.rondo    a finding
    flaky/<hash>.seq             an alarm that fresh processes did not show twice
    unconfirmed/<hash>.seq, .txt alarms that nobody has decided yet, and their identities
    faults/<hash>.seq, .txt      a sequence that made Rondo or a subject raise, and where

The key insight: a bucket follows from its reproducer alone, so the folder is the register of what
is known. Two campaigns can share it, and the second does not report again what the first did.
A campaign that can be continued has `filings`, which say what is its own.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from rondo.campaign.filings import Filings
from rondo.campaign.status import FindingNote
from rondo.drafts import draft_of, sweep
from rondo.errors import ArtifactError, ReproducerError
from rondo.findings import reproducer as files
from rondo.findings.bucket import Bucket, bucket_of, bucket_of_finding
from rondo.findings.reproducer import Reproducer, write_atomically
from rondo.sequences.codec import decode
from rondo.sequences.vocabulary import Vocabulary

REPRODUCER = "reproducer.rondo"
FLAKY = "flaky"
UNCONFIRMED = "unconfirmed"
FAULTS = "faults"


def count_kept(folder: Path, kind: str) -> int:
    """Return how many sequences are kept in the subfolder `kind` of the artifact folder."""
    return sum(1 for _ in (folder / kind).glob("*.seq"))


class Artifacts:
    """The artifact folder of one campaign. Made, and probed, at once: raises ArtifactError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle, probe = tempfile.mkstemp(prefix=".", dir=folder)
            os.close(handle)
            os.unlink(probe)
        except OSError as error:
            raise ArtifactError(f"cannot write into {folder}: {error.strerror or error}") from None
        sweep(folder)
        self.filings = Filings()

    def path(self, bucket: Bucket) -> Path:
        """Return where the reproducer of `bucket` lies, or would."""
        return self.folder / bucket.name / REPRODUCER

    def save(self, bucket: Bucket, reproducer: Reproducer) -> tuple[Path, bool]:
        """Write a finding down; return where, and False when somebody else had it there already.

        Linking a whole file into place fails where there is one, so of several campaigns that
        share the folder exactly one reports a bug. A damaged file is nobody's report.
        """
        path = self.path(bucket)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = draft_of(path)
            try:
                files.save(reproducer, draft)
                ours = self.filings.is_left(bucket.name, path)
                self.filings.file(bucket.name, draft.read_bytes())
                try:
                    os.link(draft, path)
                except FileExistsError:
                    if not ours and self._holds_a_finding(path):
                        self.filings.lose(bucket.name)
                        return path, False
                    os.replace(draft, path)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise ArtifactError(f"cannot write {path}: {error.strerror or error}") from None
        return path, True

    @staticmethod
    def _holds_a_finding(path: Path) -> bool:
        try:
            files.load(path)
        except ReproducerError:
            return False
        return True

    def buckets(self, vocabulary: Vocabulary, *, besides: Collection[str] = ()) -> Iterator[Bucket]:
        """Yield the buckets that are there already, but for those whose names are `besides`.

        What cannot be read is not known, nor is what a killed driver left half done.
        """
        for path in sorted(self.folder.glob(f"*/{REPRODUCER}")):
            name = path.parent.name
            if name in besides or self.filings.is_left(name, path):
                continue
            try:
                found = files.load(path)
            except ReproducerError:
                continue
            if found.framework == vocabulary.framework:
                yield bucket_of(found.identity, decode(found.data, vocabulary))

    def adopt(self) -> Counter[str]:
        """Take what a killed driver filed and no checkpoint remembers for found by this campaign.

        Returns how many there are of each verdict.
        """
        adopted: Counter[str] = Counter()
        for path in self.filings.adopt(self.folder, REPRODUCER):
            with suppress(ReproducerError):
                adopted[files.load(path).identity.verdict] += 1
        return adopted

    def untold(self, execution: int) -> Iterator[FindingNote]:
        """Yield what a killed driver's last checkpoint remembers and the driver did not tell."""
        for path in self.filings.untold(self.folder, REPRODUCER):
            with suppress(ReproducerError):
                found = files.load(path)
                yield FindingNote(
                    bucket=str(bucket_of_finding(found)),
                    path=str(path),
                    steps=len(found.decoded["steps"]),
                    execution=execution,
                    shortened=found.minimal or found.data != found.original,
                )

    def keep(self, kind: str, data: bytes, note: str = "") -> Path:
        """Keep `data` in the subfolder `kind` with `note` beside it; return its path.

        What is there already is not written again.
        """
        path = self._place(kind, data)
        if note and self.notes_of(path) != note.splitlines():
            write_atomically(path.with_suffix(".txt"), note.encode())
        if not path.exists():
            write_atomically(path, data)
        return path

    def move(self, kind: str, other: str, data: bytes) -> None:
        """Keep what `kind` holds of `data` in `other` instead."""
        notes = self.notes_of(self._place(kind, data))
        self.keep(other, data, "".join(f"{line}\n" for line in notes))
        self.forget(kind, data)

    def holds(self, kind: str, data: bytes) -> bool:
        """Tell whether `keep` wrote `data` and nobody has taken it away."""
        return self._place(kind, data).exists()

    @staticmethod
    def notes_of(path: Path) -> list[str]:
        """Return the lines that `keep` noted beside `path`; none where there are none."""
        try:
            text = path.with_suffix(".txt").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        return text.splitlines()

    def forget(self, kind: str, data: bytes) -> None:
        """Take away what `keep` wrote, if it did."""
        path = self._place(kind, data)
        try:
            path.with_suffix(".txt").unlink(missing_ok=True)  # never a note of something else
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ArtifactError(f"cannot remove {path}: {error.strerror or error}") from None

    def _place(self, kind: str, data: bytes) -> Path:
        return self.folder / kind / f"{blake2b(data, digest_size=8).hexdigest()}.seq"
