"""Inductor's precompiled header: made once, whole, and kept from one campaign to the next.

Making one takes ten seconds, and without it every kernel takes ten times as long. Torch names it by
all that goes into it but the processor, and keeps it under TMPDIR, of which every campaign has one
of its own; it takes one that exists for a sound one, and the compiler silently does without one
that is cut off. Nothing here may fail: without a precompiled header compiling is only slower.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from rondo.drafts import draft_of, sweep
from rondo.frameworks.shared.store import processor, prune

SUFFIXES = (".gch", ".pch")
"""What g++ and clang call one; it lies beside the header, which every command names."""
LARGEST = 1 << 30
"""Bytes of precompiled headers that are kept. One takes 150 MB."""
ROOM = 1 << 30
"""Bytes that must be free where they are kept, before there is one."""


def share_headers(folder: Path) -> None:
    """Have Inductor keep its precompiled headers below `folder`, where it can.

    The compiler's command line names it unquoted, so a folder with spaces will not do. A torch
    that lacks the constant keeps its headers where it always did.
    """
    from torch._inductor import codecache

    here = folder / blake2b(processor().encode(), digest_size=8).hexdigest()
    if not hasattr(codecache, "_HEADER_DIR") or any(map(str.isspace, str(folder))):
        return
    with suppress(OSError):
        here.mkdir(parents=True, exist_ok=True)
        sweep(folder)
        prune((path for end in SUFFIXES for path in folder.glob(f"*/*{end}")), LARGEST)
        made = any(path for end in SUFFIXES for path in here.glob(f"*{end}"))
        if os.access(here, os.W_OK) and (made or shutil.disk_usage(here).free > ROOM):
            codecache._HEADER_DIR = str(here)
            codecache._HEADER_LOCK_DIR = str(here / "locks")


def precompile(run: Callable[[str, str], None], command: str, cwd: str, output: str) -> None:
    """Run the `command` that makes a precompiled header, which appears whole or not at all.

    A full disk costs only time. What torch raises where the compiler refuses (all RuntimeErrors)
    is no loss either: a header that no compiler takes is refused again where it is included.
    """
    whole = Path(cwd, output)
    draft = draft_of(whole)
    try:
        with suppress(OSError, RuntimeError):
            run(command.replace(f" {output}", f" {draft}"), cwd)
            os.replace(draft, whole)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def note_use(command: list[str]) -> None:
    """Touch the precompiled headers that a `command` includes: those used longest ago go first."""
    for flag, header in pairwise(command):
        if flag == "-include":
            for suffix in SUFFIXES:
                with suppress(OSError):
                    os.utime(header + suffix)
