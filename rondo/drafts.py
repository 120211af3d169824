"""Drafts: files that are being written, under names that say by whom.

The key insight: a file that is whole or absent is written under another name first, and a process
that is killed leaves that behind. Nobody but its writer may touch a draft, so its name holds the
machine and the process; once that one is gone, whoever opens the folder next takes it away.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

NAME = re.compile(r"\..+\.(?P<host>[0-9a-f]{8})-(?P<pid>\d+)\.[0-9a-f]{8}")
LONGEST = 64


def _host() -> str:
    return blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def draft_of(path: Path) -> Path:
    """Return a new name beside `path` for what will become it."""
    name = f".{path.name[:LONGEST]}.{_host()}-{os.getpid()}.{secrets.token_hex(4)}"
    return path.with_name(name)


def sweep(folder: Path) -> int:
    """Take away the drafts below `folder`, one level deep at most, whose writers are gone.

    Returns how many there were.

    Those of other machines stay: whether their writers live cannot be told from here.
    """
    swept = 0
    for path in (*folder.glob(".*"), *folder.glob("*/.*")):
        found = NAME.fullmatch(path.name)
        if found and found["host"] == _host() and not _lives(int(found["pid"])):
            with suppress(OSError):
                path.unlink()
                swept += 1
    return swept
