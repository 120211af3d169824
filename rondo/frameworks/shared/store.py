"""Where compiled code is kept for later processes, and what it depends on besides its program."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

VARIABLE = "RONDO_KERNEL_CACHE"


def store_folder(name: str, *, within: str = "") -> Path:
    """Return a folder for compiled code, absolute, since compilers run in folders of their own.

    `within` the folder that RONDO_KERNEL_CACHE names, else `name` under the user's cache folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).absolute() / within
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base).absolute() / "rondo" / name


@cache
def processor() -> str:
    """Return what code that is compiled for this very processor may use of it.

    A folder of compiled code may be shared by machines: a home on a network, an image.
    """
    features = ""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {features}"


def prune(files: Iterable[Path], limit: int) -> None:
    """Remove the files that were touched longest ago until `limit` bytes are left.

    Others may be doing the same: what is gone already does not count.
    """
    found = []
    for path in files:
        with suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        with suppress(OSError):
            path.unlink(missing_ok=True)
        total -= size
