"""What a campaign has filed and told, in a log that outlives it.

    filed NAME DIGEST     about to put this reproducer into the artifact folder
    lost NAME             another campaign's was there first
    told NAME             the finding is told

The key insight: a finding is filed, remembered by a checkpoint and told, one after the other, and a
driver may be killed between any two. The log and the checkpoint together say how far it came, so
that the continued campaign does what is left: it makes what no checkpoint remembers a second time,
as its own, and tells what was not told.

A digest says whose a reproducer is: another campaign's may have come first, and folders are moved.
"""

from __future__ import annotations

import os
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from rondo.errors import ArtifactError

FILED, LOST, TOLD = "filed", "lost", "told"


@dataclass
class Filings:
    """One campaign's log; `remembered` are the names of buckets that its checkpoint knows."""

    log: Path
    remembered: Set[str] = frozenset()
    _digests: dict[str, str] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, log: Path) -> Filings:
        """Return a new log: what one without its checkpoint says counts no more.

        Raises ArtifactError.
        """
        try:
            log.unlink(missing_ok=True)
        except OSError as error:
            raise ArtifactError(f"cannot remove {log}: {error.strerror}") from None
        return cls(log)

    def __post_init__(self) -> None:
        """Read what is there. Raises ArtifactError; what is no line of ours says nothing."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        except OSError as error:
            raise ArtifactError(f"cannot read {self.log}: {error.strerror}") from None
        for line in text.splitlines():
            match line.split(" "):
                case [word, name, digest] if word == FILED:
                    self._digests[name] = digest
                case [word, name] if word == LOST:
                    self._digests.pop(name, None)
                case [word, name] if word == TOLD:
                    self._told.add(name)

    def file(self, name: str, content: bytes) -> None:
        """Note that `content` is about to be filed under `name`. Raises OSError."""
        self._digests[name] = _digest(content)
        self._add(FILED, name, self._digests[name])

    def lose(self, name: str) -> None:
        """Note that another campaign was first: it tells of it. Raises OSError."""
        del self._digests[name]
        self._add(LOST, name)

    def tell(self, name: str) -> None:
        """Note that it is told; where nothing can be written, it may be told once more."""
        self._told.add(name)
        with suppress(OSError):
            self._add(TOLD, name)

    def was_told(self, name: str) -> bool:
        """Whether it was."""
        return name in self._told

    def is_left(self, name: str, path: Path) -> bool:
        """Whether the reproducer at `path` is our own and no checkpoint remembers it."""
        return name in self._digests and name not in self.remembered and self._is_ours(name, path)

    def untold(self, folder: Path, reproducer: str) -> list[Path]:
        """Return the reproducers below `folder` that a checkpoint remembers and nobody told."""
        names = sorted(self._digests.keys() & self.remembered - self._told)
        paths = {name: folder / name / reproducer for name in names}
        return [path for name, path in paths.items() if self._is_ours(name, path)]

    def _is_ours(self, name: str, path: Path) -> bool:
        try:
            return _digest(path.read_bytes()) == self._digests[name]
        except (OSError, ValueError):  # the latter: a name that no file can have
            return False

    def _add(self, *words: str) -> None:
        # A new line first: what a full disk cut off must not take the next record with it.
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"\n{' '.join(words)}\n")
            file.flush()
            os.fsync(file.fileno())


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()
