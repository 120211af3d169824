"""XLA's compile events, read from the lines that its device compiler logs.

One trace may serve many shapes while XLA compiles anew for each, and no Python call tells: the only
sign is a verbose log on standard error, written by C++ code. So, during calls, the process's
standard error is a file of ours. What else TensorFlow logs there (each NaN that a numeric check
finds takes a page) is dropped; exceptions tell it too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

COMPILED = "Compilation of XLA executable time"
LOOKED_UP = "Compilation cache entry"
LOGGED = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "device_compiler=5"}
"""Environment under which the lines are written; TensorFlow reads it once, when imported."""


@dataclass(frozen=True, slots=True)
class XlaEvents:
    """What XLA did: labels, and how many executables it compiled."""

    labels: tuple[str, ...] = ()
    compilations: int = 0


class XlaLog:
    """Catches the log while `caught`; `take` returns what it says since the last `take`."""

    def __init__(self) -> None:
        self._text = ""

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Have standard error written to a file of ours meanwhile."""
        saved = os.dup(2)
        ours = os.memfd_create("rondo-stderr")
        os.dup2(ours, 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            self._read(ours)

    def _read(self, descriptor: int) -> None:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        self._text += os.pread(descriptor, size, 0).decode(errors="replace")
        os.close(descriptor)

    def take(self) -> XlaEvents:
        """Return and forget the events."""
        text, self._text = self._text, ""
        compilations = text.count(COMPILED)
        labels = ["xla compile"] * bool(compilations)
        labels += ["xla reuse"] * (text.count(LOOKED_UP) > compilations)
        return XlaEvents(tuple(labels), compilations)
