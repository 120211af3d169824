"""The oracle: a line tracer in plain Python, slow and obviously right."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

Pair = tuple[str, int]


class ReferenceTracer:
    """Every (file, line) that runs in the given files, through `sys.settrace`."""

    def __init__(self, filenames: set[str]) -> None:
        self.filenames = filenames
        self.seen: set[Pair] = set()

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in self.filenames:
            return None
        if event == "line" and frame.f_lineno:
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace

    def run(self, action: Callable[[], object]) -> set[Pair]:
        """What `action` runs, in this thread and in those that it starts."""
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            action()
        finally:
            sys.settrace(None)
            threading.settrace(None)
        return self.seen
