"""A workbench: fresh processes for a reproducer, one or several at a time, outside a campaign.

The key insight: what is asked of a finding - does it show, which part of it can go - is asked of
processes that have run nothing before, because that is where its reader will ask. A fork of the
server is one; how many of them run at the same time changes nothing but the wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue

from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError, Interrupted, Limits, Server
from rondo.campaign.preload import check_preloads
from rondo.findings.replay import Replayable, check_vocabulary
from rondo.frameworks.base import CPU
from rondo.oracle.fresh import measure
from rondo.oracle.result import Result, Verdict
from rondo.sequences.vocabulary import Vocabulary


class Workbench:
    """Runs the bytes of one file in fresh processes, up to `workers` at the same time."""

    def __init__(
        self, server: Server, limits: Limits, *, workers: int, interrupted: Interrupted
    ) -> None:
        self.vocabulary: Vocabulary = server.vocabulary
        self.workers = workers
        self._verdict = ""
        self._turns = server.turns
        self._idle: SimpleQueue[Executor] = SimpleQueue()
        self._executors = [
            Executor(server, limits, batch=1, interrupted=interrupted) for _ in range(workers)
        ]
        for executor in self._executors:
            self._idle.put(executor)
        self._threads = ThreadPoolExecutor(workers)

    def prepare(self, replayable: Replayable) -> None:
        """Check that `replayable` means here what it meant, and run its arms as it needs them.

        Raises ReproducerError.
        """
        check_vocabulary(replayable, self.vocabulary)
        for executor in self._executors:
            executor.limits = limits_for(replayable, executor.limits.seconds)
        if replayable.reproducer is not None:
            self.look_for(replayable.reproducer.identity.verdict)

    def look_for(self, verdict: str) -> None:
        """Run everything from now on in the way that shows alarms of that verdict."""
        self._verdict = verdict

    def run(self, data: bytes) -> Result:
        """Return the result of a fresh process. Raises ExecutionFaultError."""
        executor = self._idle.get()
        try:
            return run_showing(self._verdict, data, executor, self.vocabulary)
        finally:
            self._idle.put(executor)

    def run_all(self, many: list[bytes]) -> list[Result | None]:
        """Return the results in order; None where a sequence could not be executed at all."""
        if len(many) == 1 or self.workers == 1:
            return [self._or_none(data) for data in many]
        return list(self._threads.map(self._in_turn, many))

    def _in_turn(self, data: bytes) -> Result | None:
        """Run `data` in one of several threads: each goes on only where no other one does."""
        with self._turns.taken():
            return self._or_none(data)

    def _or_none(self, data: bytes) -> Result | None:
        try:
            return self.run(data)
        except ExecutionFaultError:
            return None

    def environment(self) -> dict[str, str]:
        """Return what a maintainer asks about the environment."""
        return self._executors[0].environment()

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(cancel_futures=True)


@contextmanager
def open_workbench(
    framework: str,
    *,
    preloads: tuple[str, ...] = (),
    subject: str = "",
    device: str = CPU,
    seconds: float = 120.0,
    workers: int = 1,
    interrupted: Interrupted = lambda: None,
) -> Iterator[Workbench]:
    """Start a server, yield a workbench over it and end both. Raises RondoError."""
    check_preloads(preloads)
    server = Server(
        framework, preloads=preloads, subject=subject, device=device, interrupted=interrupted
    )
    try:
        bench = Workbench(server, Limits(seconds), workers=workers, interrupted=interrupted)
        try:
            yield bench
        finally:
            bench.close()
    finally:
        server.close()


def run_showing(verdict: str, data: bytes, executor: Executor, vocabulary: Vocabulary) -> Result:
    """Return the result of a fresh process, run as alarms of `verdict` need it to show.

    Masked bugs show only where the reset arm runs at every call, leaks only where each reset arm is
    measured against a process of its own. Raises ExecutionFaultError.
    """
    executor.always_reset = verdict == Verdict.MASKED.value
    if verdict == Verdict.LEAKED.value:
        return measure(data, executor.run_fresh_as, vocabulary)
    return executor.run_fresh(data)


def limits_for(replayable: Replayable, seconds: float) -> Limits:
    """Return what a run of `replayable` may use: the memory that the recorded one could not have.

    Under a higher limit than the campaign's, code that takes too much may come to an end.
    """
    recorded = replayable.reproducer
    if recorded is None or not recorded.memory_mb:
        return Limits(seconds)
    return Limits(seconds, recorded.memory_mb << 20)


def framework_of(replayable: Replayable, framework: str) -> str:
    """Return the adapter to load: the file's own, or one given as module:Class."""
    return framework if ":" in framework else replayable.framework
