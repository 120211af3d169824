"""Drafts: files that are being written, under names that say by whom.

The key insight: a file that is whole or absent is written under another name first, and a process
that is killed leaves that behind. Nobody but its writer may touch a draft, so its name holds the
machine and the process; once that one is gone, whoever opens the folder next takes it away. The
same holds for temporary folders.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

NAME = re.compile(r"\..+\.(?P<host>[0-9a-f]{8})-(?P<pid>\d+)\.[0-9a-f]{8}")
FOLDER = re.compile(r"rondo-(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-.+")
LONGEST = 64


def _host() -> str:
    return blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # the latter is no process's number
        return False
    except PermissionError:  # somebody else's
        pass
    return True


def _is_left(name: re.Match[str] | None) -> bool:
    """Tell whether a name is one of this machine whose process is gone."""
    return bool(name and name["host"] == _host() and not _lives(int(name["pid"])))


def draft_of(path: Path) -> Path:
    """Return a new name beside `path` for what will become it.

    Not mkstemp: findings are for others too, and get the mode that any new file gets.
    """
    name = f".{path.name[:LONGEST]}.{_host()}-{os.getpid()}.{secrets.token_hex(4)}"
    return path.with_name(name)


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write what `path` is to hold, and put it there at the end, or nothing.

    Raises OSError where it cannot be written.
    """
    draft = draft_of(path)
    try:
        with draft.open("xb") as file:
            yield file
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):  # where nothing can be written, nothing can be taken away
            draft.unlink()
        raise


def temporary_folder() -> Path:
    """Return a new private folder, after taking away those of ours whose makers are gone."""
    for path in Path(tempfile.gettempdir()).glob(f"rondo-{_host()}-*"):
        if _is_left(FOLDER.fullmatch(path.name)):
            with suppress(OSError):
                if path.lstat().st_uid == os.getuid():
                    shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"rondo-{_host()}-{os.getpid()}-"))


def sweep(folder: Path) -> int:
    """Take away drafts in `folder` and its subfolders whose writers are gone; return how many.

    Those of other machines stay: whether their writers live cannot be told from here.
    """
    swept = 0
    for path in (*folder.glob(".*"), *folder.glob("*/.*")):
        if _is_left(NAME.fullmatch(path.name)):
            with suppress(OSError):
                path.unlink()
                swept += 1
    return swept
