"""Several workers, one driver: threads that take turns.

The key insight: the driver is asleep nearly all the time, waiting for workers. So each worker slot
has a thread, all of them share one lock, and a thread lets go of it only where it waits for a
worker. Everything between two waits - sampling, counting, confirming, shortening, writing - then
reads as if there were one thread, and no record needs a lock of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """One turn at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for the turn and keep it."""
        self._lock.acquire()
        self._holder = threading.get_ident()
        try:
            yield
        finally:
            self._holder = 0
            self._lock.release()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Let others go on meanwhile, if this thread holds the turn; nothing to do if it does not.

        A campaign with one worker, a replay and a start-up never take a turn, and pay nothing.
        """
        if self._holder != threading.get_ident():
            yield
            return
        self._holder = 0
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()
            self._holder = threading.get_ident()
