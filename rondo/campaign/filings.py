"""What a campaign has filed and told, in a log that outlives it.

    filed NAME DIGEST     about to put this reproducer into the artifact folder
    lost NAME             another campaign's was there first
    told NAME             the finding is told

The key insight: a finding is filed, remembered by a checkpoint and told, one after the other, and a
driver may be killed between any two. The log and the checkpoint together say how far it came, so
that the continued campaign does what is left: it makes what no checkpoint remembers a second time,
as its own, or adopts it where it would not do the same again, and tells what was not told.

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
    """One campaign's log; `remembered` are the names of buckets that its checkpoint knows.

    Without a `log` nothing is kept: a campaign that nobody can continue.
    """

    log: Path | None = None
    remembered: Set[str] = frozenset()
    _left: dict[str, str] = field(default_factory=dict)
    _untold: dict[str, str] = field(default_factory=dict)
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
        filed: dict[str, str] = {}
        for line in self._lines():
            match line.split(" "):
                case [word, name, digest] if word == FILED:
                    filed[name] = digest
                case [word, name] if word == LOST:
                    filed.pop(name, None)
                case [word, name] if word == TOLD:
                    self._told.add(name)
        for name in sorted(filed):
            if name not in self.remembered:
                self._left[name] = filed[name]
            elif name not in self._told:
                self._untold[name] = filed[name]

    def _lines(self) -> list[str]:
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace") if self.log else ""
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ArtifactError(f"cannot read {self.log}: {error.strerror}") from None
        return text.splitlines()

    def file(self, name: str, content: bytes) -> None:
        """Note that `content` is about to be filed under `name`. Raises OSError."""
        self._left.pop(name, None)
        self._add(FILED, name, _digest(content))

    def lose(self, name: str) -> None:
        """Note that another campaign was first: it tells of it. Raises OSError."""
        self._add(LOST, name)

    def tell(self, name: str) -> bool:
        """Note that it is told; return False where it was, and is not to be told again.

        Where nothing can be written, it may be told once more by a continued campaign.
        """
        if name in self._told:
            return False
        self._told.add(name)
        with suppress(OSError):
            self._add(TOLD, name)
        return True

    def is_left(self, name: str, path: Path) -> bool:
        """Whether the reproducer at `path` was filed before a kill that no checkpoint remembers."""
        return _has(path, self._left.get(name))

    def adopt(self, folder: Path, reproducer: str) -> list[Path]:
        """Return the reproducers below `folder` that are left; they count as remembered now."""
        names = [name for name in self._left if self.is_left(name, folder / name / reproducer)]
        for name in names:
            digest = self._left.pop(name)
            if name not in self._told:
                self._untold[name] = digest
        return [folder / name / reproducer for name in names]

    def untold(self, folder: Path, reproducer: str) -> list[Path]:
        """Return the reproducers below `folder` that a checkpoint remembers and nobody told."""
        paths = {name: folder / name / reproducer for name in self._untold}
        return [path for name, path in paths.items() if _has(path, self._untold[name])]

    def _add(self, *words: str) -> None:
        if self.log is None:
            return
        # A new line first: what a full disk cut off must not take the next record with it.
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"\n{' '.join(words)}\n")
            file.flush()
            os.fsync(file.fileno())


def _has(path: Path, digest: str | None) -> bool:
    """Tell whether the file is there and has that digest."""
    if digest is None:
        return False
    try:
        return _digest(path.read_bytes()) == digest
    except (OSError, ValueError):  # the latter: a name that no file can have
        return False


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()
