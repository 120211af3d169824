"""What is known of buckets: a public report or a documented limitation, kept as JSON for people.

    {"format": "rondo-known", "version": 1, "buckets": {
        "<bucket>": {"url": "https://...", "status": "known", "added": "2026-01-31"}}}

The key insight: the name of a bucket is the same in every campaign, so one file can be shared by
all of them, be read by a person and merged by hand. No note in it may be lost: each is added to
what the file says at that moment, and whoever else notes something then waits.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

from rondo.errors import RondoError
from rondo.findings.reproducer import CONTROL, write_atomically

FORMAT = "rondo-known"
VERSION = 1
FILE = "known.json"
"""Its name in a folder of findings."""
LARGEST = 16 << 20
STATUSES = ("known", "documented")
BUCKET_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*-[0-9a-f]{6}")


class KnownError(RondoError):
    """The list of known buckets cannot be used."""

    slug = "known"


@dataclass(frozen=True, slots=True)
class Known:
    """Why a bucket is no news: where it is reported, or documented."""

    url: str
    status: str = "known"
    added: str = ""


class KnownBuckets:
    """The known buckets of one file, which need not be there yet. Raises KnownError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.buckets = _read(path)

    def get(self, bucket: str) -> Known | None:
        """Return what is known of `bucket`."""
        return self.buckets.get(bucket)

    def add(self, bucket: str, url: str, *, status: str = "known") -> Known:
        """Note that `bucket` is known from `url`, and write the file. Raises KnownError."""
        check_note(bucket, url)
        with _alone(self._real.parent):
            self.buckets = _read(self.path)
            self.buckets[bucket] = Known(url, status, date.today().isoformat())
            self.save()
        return self.buckets[bucket]

    def remove(self, bucket: str) -> Known:
        """Take the note on `bucket` back, and write the file. Raises KnownError."""
        if not self._real.is_file():
            raise KnownError(f"there is no list {self.path}")
        with _alone(self._real.parent):
            self.buckets = _read(self.path)
            if bucket not in self.buckets:
                raise KnownError(f"{self.path} notes no {bucket}")
            taken = self.buckets.pop(bucket)
            self.save()
        return taken

    def save(self) -> None:
        """Write the file. Raises ArtifactError."""
        rows = {name: asdict(known) for name, known in sorted(self.buckets.items())}
        text = json.dumps({"format": FORMAT, "version": VERSION, "buckets": rows}, indent=2)
        write_atomically(self._real, f"{text}\n".encode())

    @property
    def _real(self) -> Path:
        """Where the list lies: several folders of findings may share one by links to it."""
        return Path(os.path.realpath(self.path))


def check_note(bucket: str, url: str) -> None:
    """Raise KnownError unless `bucket` is a bucket's name and `url` a link."""
    if not BUCKET_NAME.fullmatch(bucket):
        raise KnownError(f"{bucket!r} is no bucket's name")
    if not _is_link(url):
        raise KnownError(f"{url!r} is no http or https link")


def _is_link(url: str) -> bool:
    """Whether `url` is a link that a line of a table and an HTML page can hold."""
    if not url.isprintable() or any(character.isspace() for character in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until nobody else notes anything in `folder`, and make others wait.

    The folder is locked and not the list, which each note replaces. Where a file system keeps no
    locks, two notes at the same moment remain two notes at the same moment.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise KnownError(f"cannot write into {folder}: {error.strerror or error}") from None
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def known_below(folder: Path, file: Path | None = None) -> dict[str, Known]:
    """Return what all lists below `folder` say together; of two, the one nearer to it counts.

    `rondo known add` notes a bucket in the folder of findings that holds it, and `folder` may hold
    those of many campaigns. With `file`, that list alone. Raises KnownError.
    """
    if file is not None:
        return _read(file)
    paths = sorted(folder.rglob(FILE), key=lambda path: (-len(path.parts), path))
    return {name: known for path in paths for name, known in _read(path).items()}


def _read(path: Path) -> dict[str, Known]:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise KnownError(f"cannot read {path}: {error.strerror or error}") from None
    if len(content) > LARGEST:
        raise KnownError(f"{path} is larger than {LARGEST} bytes")
    return _parse(path, content)


def _parse(path: Path, content: bytes) -> dict[str, Known]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        told = " ".join(str(error).split())[:100]
        raise KnownError(f"{path} is not JSON: {told}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise KnownError(f"{path} is no list of known buckets")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise KnownError(f"{path}: version {repr(version)[:20]}; this Rondo reads {VERSION}")
    rows = document.get("buckets")
    if not isinstance(rows, dict):
        raise KnownError(f"{path}: no buckets in it")
    return {name: _known(path, name, row) for name, row in rows.items()}


def _known(path: Path, name: str, row: object) -> Known:
    if not isinstance(row, dict) or not set(row) <= {"url", "status", "added"} or "url" not in row:
        raise KnownError(f"{path}: {name[:80]!r} must have url, and may have status and added")
    if not all(isinstance(value, str) for value in row.values()):
        raise KnownError(f"{path}: {name[:80]!r} holds something else than texts")
    if not BUCKET_NAME.fullmatch(name):
        raise KnownError(f"{path}: {name[:80]!r} is no bucket's name")
    known = Known(**{field: text.translate(CONTROL) for field, text in row.items()})
    if known.status not in STATUSES:
        raise KnownError(f"{path}: the status of {name[:80]!r} is not {' or '.join(STATUSES)}")
    return known
