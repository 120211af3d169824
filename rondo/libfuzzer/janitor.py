"""Temporary files that go with a process which ends without saying so.

libFuzzer leaves through `_exit`, so nothing registered with atexit runs, and a segfault runs
nothing either. So a small process is forked before anything is imported; it holds the other end of
a pipe, and when that end is closed, by whatever death, it removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time

REMOVALS = 100
"""Attempts: a compiler that was killed with its parent may still be writing."""


def temporary_folder() -> str:
    """Return a new folder that disappears after this process, and make it the default one."""
    folder = tempfile.mkdtemp(prefix="rondo-target-")
    reading, writing = os.pipe()
    if not os.fork():
        os.close(writing)
        _wait_and_remove(reading, folder)
    os.close(reading)
    # The writing end stays open, and is inherited by nobody, until this process ends.
    os.set_inheritable(writing, False)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    return folder


def _wait_and_remove(reading: int, folder: str) -> None:
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        # Whoever waits for the end of our output must not wait for this process.
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        while os.read(reading, 1):
            pass
        for _ in range(REMOVALS):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break
            time.sleep(0.05)
    finally:
        with contextlib.suppress(BaseException):
            os._exit(0)
