"""When to stop: Ctrl-C, SIGTERM and the time limit, asked for at points that are safe to leave.

The key insight: a signal handler that raises would leave a file half written; one that only takes
note lets the driver stop between two things. Everything that waits asks `check` all the time.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SHOW_CURSOR = "\x1b[?25h"


class StoppedError(Exception):
    """The campaign was asked to stop. Not an error."""


class Stop:
    """Remembers that, and why, the campaign should stop."""

    def __init__(self) -> None:
        self.signal = 0
        self._now = False
        self.start_clock(0.0)

    def start_clock(self, seconds: float) -> None:
        """Count from now, and stop after `seconds` (0: never).

        Called once the framework is there: importing it is not fuzzing.
        """
        self._started = time.monotonic()
        self._deadline = self._started + seconds if seconds else float("inf")

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def requested(self) -> bool:
        """Whether to stop."""
        return bool(self.signal) or self._now or time.monotonic() >= self._deadline

    def now(self) -> None:
        """Stop at the next point that is safe to leave, for a reason that whoever calls knows."""
        self._now = True

    def check(self) -> None:
        """Raise StoppedError when it is time to stop."""
        if self.requested:
            raise StoppedError

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take note of Ctrl-C and SIGTERM; a second one ends the process at once."""

        def note(number: int, _frame: FrameType | None) -> None:
            if self.signal:
                if sys.stderr.isatty():
                    os.write(2, SHOW_CURSOR.encode())
                os._exit(128 + number)
            self.signal = number

        before = {number: signal.signal(number, note) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
