"""Room on the disk: how much may be used, how much is left, and some kept for the end.

The key insight: a full disk must be noticed while there is still room. A compiler that cannot write
its kernels raises, which looks like a bug; and what was found last has to be written somewhere. So
a campaign stops while some room is left, and holds a file of its own size for the case that others
were faster: taking that away makes room for the last words.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from rondo.errors import RondoError

LEAST_FREE = 32 << 20
"""Bytes that must be free, or the campaign stops."""
RESERVE = 4 << 20
"""Bytes of the file that is taken away at the end."""
LOOK_SECONDS = 5.0
"""Seconds between two looks at what is used; walking through folders is not free."""


class DiskFullError(RondoError):
    """There is no room left. Everything found is saved."""

    exit_code: ClassVar[int] = 4
    slug: ClassVar[str] = "disk-full"


class Disk:
    """Watches the folders that a campaign writes; `limit` bytes in all, 0 for no limit."""

    def __init__(self, folders: Iterable[Path], *, limit: int, reserve: Path | None = None) -> None:
        self._folders = tuple(folders)
        self._limit = limit
        self._reserve = reserve
        self._next_look = 0.0
        if reserve is not None:
            with suppress(OSError), open(reserve, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVE)

    def check(self) -> None:
        """Raise DiskFullError when too little is left, or too much is used."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        for folder in self._folders:
            free = free_bytes(folder)
            if free is not None and free < LEAST_FREE:
                raise DiskFullError(f"only {free >> 20} Mb are free for {folder}")
        if self._limit:
            used = sum(map(used_bytes, self._folders))
            if used > self._limit:
                raise DiskFullError(
                    f"the campaign uses {used >> 20} Mb with temporary files and what is held back,"
                    f" and --max-disk allows {self._limit >> 20}"
                )

    def release(self) -> None:
        """Take the file away that was kept for the end."""
        if self._reserve is not None:
            with suppress(OSError):
                self._reserve.unlink(missing_ok=True)


def free_bytes(folder: Path) -> int | None:
    """Return the room that is left for `folder`, None where nobody says."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def used_bytes(folder: Path) -> int:
    """Return what the files below `folder` take; those that vanish meanwhile take nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
    return total
