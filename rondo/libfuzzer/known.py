"""Where a target finds the bugs that are known: beside itself, packed or in a checkout.

Kept out of the targets because all of them ask the same, and out of `fuzz` because a target for
another project has bugs of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path


def known_folders(target: str) -> tuple[Path, ...]:
    """Return the folders of known reproducers of the target whose file is `target`.

    `known/` beside the target - in an OSS-Fuzz build, beside the packed executable - and in a
    checkout of Rondo also what its own campaigns have found.
    """
    beside = Path(sys.executable if getattr(sys, "frozen", False) else target).resolve().parent
    return (beside / "known", beside.parent / "bench" / "bugs" / "torch")
