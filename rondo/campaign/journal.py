"""What a worker is doing, on disk before it does it.

    journal = state:u8 arm:u8 step:i32 length:u32 bytes

The key insight: memory that is mapped from a file outlives the process that wrote it, whatever
killed it, and costs a store instead of a system call. The step and the arm are written as the
framework is asked for them, so that a death can be blamed on a call and not on a sequence.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.frameworks.base import Arm, Framework, Program
from rondo.sequences.step import Sequence, Step

HEADER = struct.Struct("<BBiI")
CAPACITY = 64 << 10
ARMS = tuple(Arm)
NO_STEP = -1


def progress_of(path: Path) -> bytes:
    """Return what changes with each step that the journal at `path` is told of."""
    try:
        with path.open("rb") as file:
            return file.read(HEADER.size)
    except OSError:
        return b""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a journal says: the bytes being run, the arm and the step within it."""

    data: bytes
    arm: str = ""
    step: int = NO_STEP


class Journal:
    """One worker's journal. Both ends map the same file."""

    def __init__(self, path: Path) -> None:
        with open(path, "a+b") as file:
            file.truncate(HEADER.size + CAPACITY)
            self._map = mmap.mmap(file.fileno(), HEADER.size + CAPACITY)

    def begin(self, data: bytes) -> None:
        """Write down that `data` is about to run. Longer data than CAPACITY is cut."""
        kept = data[:CAPACITY]
        self._map[HEADER.size : HEADER.size + len(kept)] = kept
        HEADER.pack_into(self._map, 0, 1, 0, NO_STEP, len(kept))

    def step(self, arm: Arm, step: int) -> None:
        """Write down that `arm` is about to take step number `step`."""
        struct.pack_into("<Bi", self._map, 1, 1 + ARMS.index(arm), step)

    def end(self) -> None:
        """Write down that nothing runs."""
        self._map[0] = 0

    def read(self) -> Entry | None:
        """Return what is being run, None when nothing is."""
        state, arm, step, length = HEADER.unpack_from(self._map)
        if not state:
            return None
        data = self._map[HEADER.size : HEADER.size + min(length, CAPACITY)]
        return Entry(data, ARMS[arm - 1].value if 0 < arm <= len(ARMS) else "", step)

    def close(self) -> None:
        """Unmap the file."""
        self._map.close()


def journal_steps(framework: Framework, journal: Journal) -> None:
    """Have every program that `framework` builds from now on write each step down before it.

    The verbs are replaced on the objects rather than wrapped in a class, so that whatever else an
    adapter offers stays as it is. A step is known by being one of the sequence's own objects: an
    arm may skip steps, or take the same one in two verbs.
    """
    build = framework.arm

    @contextmanager
    def arm(sequence: Sequence, arm: Arm) -> Iterator[Program]:
        positions = {id(step): position for position, step in enumerate(sequence.steps)}
        with build(sequence, arm) as program:
            for verb in ("call", "change", "compiler_change"):
                setattr(program, verb, _journaled(getattr(program, verb), arm, positions, journal))
            yield program

    framework.arm = arm  # type: ignore[method-assign]


def _journaled(
    verb: Callable[..., Any], arm: Arm, positions: dict[int, int], journal: Journal
) -> Callable[..., Any]:
    def journaled(step: Step, **options: Any) -> Any:
        position = positions.get(id(step))
        if position is not None:
            journal.step(arm, position)
        return verb(step, **options)

    return journaled
