"""Processes that end when they should: parents' deaths, groups, memory.

The key insight: a process that outlives its parent is nobody's, so each of ours asks the kernel for
a signal at its parent's death and checks once more that the parent had not died before it asked.
"""

from __future__ import annotations

import ctypes
import glob
import os
import signal
import sys
from contextlib import suppress

PAGE = os.sysconf("SC_PAGE_SIZE")
PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, number: signal.Signals) -> None:
    """Have the kernel send `number` to this process when its parent, `parent`, dies.

    Linux only. Elsewhere a process notices at the end of its connection instead, which is late only
    for one that hangs.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, int(number))
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def own_group(pid: int = 0) -> None:
    """Move `pid` (this process) into a group of its own, so that what it starts dies with it."""
    with suppress(OSError):
        os.setpgid(pid, pid)


def kill_group(pid: int) -> None:
    """Kill `pid`, a child not yet waited for, and all of its group."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Return the resident memory of `pid`, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, IndexError, ValueError):
        return 0


class RunQueueTime:
    """How long a process and what it starts have waited for a free core, in seconds.

    From the kernel's account of each process's time on a run queue; 0 where it keeps none. On a
    machine with more to do than cores this is most of the time that passes, and none of it is the
    process's doing. A C++ compiler that a worker started waits in the worker's stead and is gone
    with its account before long, so `look` is to be called about once a second.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = _queued(pid)
        self._seen: dict[int, float] = {}

    def look(self) -> float:
        """Take the present accounts; return the seconds since the beginning."""
        for pid in (self._pid, *descendants(self._pid)):
            self._seen[pid] = max(_queued(pid), self._seen.get(pid, 0.0))
        return sum(self._seen.values()) - self._before


def descendants(pid: int) -> list[int]:
    """Return the children of `pid` and theirs; nothing where the kernel does not list them."""
    found: list[int] = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with suppress(OSError), open(path, "rb") as file:
            found += [int(each) for each in file.read().split()]
    return found + [each for child in found for each in descendants(child)]


def _queued(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def state_of(pid: int) -> str:
    """Return the kernel's letter for what `pid` does (R, S, D, T stopped, Z ...), "" when gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return ""


def has_ended(pid: int) -> bool:
    """Tell whether `pid` is gone or a zombie that waits for its parent."""
    return sys.platform == "linux" and state_of(pid) in ("", "Z", "X")


def is_stopped(pid: int) -> bool:
    """Tell whether somebody stopped `pid` (SIGSTOP, a terminal, a debugger)."""
    return state_of(pid) in ("T", "t")


def resume_group(pid: int) -> None:
    """Have `pid` and its group go on after a stop."""
    for resume in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            resume(pid, signal.SIGCONT)


def kernel_kills() -> int | None:
    """Return how often the kernel has killed for want of memory since it started.

    None where it does not say: then nobody can tell such a kill from anybody else's.
    """
    try:
        with open("/proc/vmstat", "rb") as file:
            for line in file:
                if line.startswith(b"oom_kill "):
                    return int(line.split()[1])
    except OSError:
        pass
    return None
