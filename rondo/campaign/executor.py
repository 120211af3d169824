"""Runs bytes in workers and returns results, whatever becomes of the worker.

The key insight: callers - the search, confirmation, shortening - see one function from bytes to a
Result. That a worker serves a batch, is replaced after an alarm, or died, is decided here only.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from rondo._native.lines import LineStore
from rondo.campaign.deaths import death_result
from rondo.campaign.pool import (
    Interrupted,
    Limits,
    Server,
    ServerLostError,
    Worker,
    WorkerDiedError,
    WorkerKilledError,
)
from rondo.errors import WorkerError
from rondo.findings.reproducer import DEVICE
from rondo.oracle.result import Result
from rondo.oracle.run import Settings

CROWDED = 0.5
"""A worker that holds this share of its memory limit between executions is replaced: it has grown
over a batch, and the sequence that happened to come next must not be blamed for it."""

KILLS_BELIEVED = 3
"""A worker killed by nobody we know of, so many times over one sequence, was killed by it."""
LOSSES_BORNE = 4
"""The server may be lost that often but once in one execution: kills that have nothing to do with
it fall together now and then, since a lost server takes seconds to come back."""


@dataclass
class Executor:
    """Executes in a worker that serves up to `batch` sequences, or in a fresh one.

    With `always_reset` the reset arm runs at every call. Elsewhere a sample of the agreeing calls
    gets one, which the bytes choose: a bug that retained state masks would then come and go with
    whatever else a sequence holds, and could not be shortened.
    """

    server: Server
    limits: Limits
    batch: int
    interrupted: Interrupted
    resident_bytes: int = 0
    forks: int = 0
    cpu_seconds: float = 0.0
    last_cpu_seconds: float = 0.0
    last_new_lines: int = 0
    store: LineStore | None = None
    trace_inline: bool = False
    always_reset: bool = False
    keep_reset: bool = False
    only_reset: int | None = None
    _worker: Worker | None = field(default=None, repr=False)
    _tracing: Worker | None = field(default=None, repr=False)

    def run(self, data: bytes) -> Result:
        """Return the result of `data`. Raises ExecutionFaultError."""
        return self._retrying(data, fresh=False)

    def run_fresh(self, data: bytes) -> Result:
        """Return the result of `data` in a process that has run nothing before."""
        return self._retrying(data, fresh=True)

    def run_fresh_as(self, data: bytes, settings: Settings) -> Result:
        """Return the result of `data` in a fresh process, with the reset arms that are asked for.

        This is what `rondo.oracle.fresh.measure` takes. Raises ExecutionFaultError.
        """
        before = self.always_reset, self.keep_reset, self.only_reset
        self.always_reset = settings.always_reset
        self.keep_reset, self.only_reset = settings.keep_reset, settings.only_reset
        try:
            return self.run_fresh(data)
        finally:
            self.always_reset, self.keep_reset, self.only_reset = before

    def run_traced(self, data: bytes) -> float:
        """Run `data` once more, for its lines alone; return the CPU seconds that it took.

        A worker that dies of it is replaced at the next call, and nothing else happens: the same
        bytes have been run and judged. Raises ExecutionFaultError.
        """
        worker, self._tracing = self._present(self._tracing), None
        try:
            worker = worker or self._fork()
            worker.execute(data, self.limits, self.interrupted, trace=True)
        except (WorkerDiedError, ServerLostError):
            return 0.0
        except BaseException:
            if worker is not None:
                worker.end()
            raise
        self._note(worker)
        if worker.executions >= self.batch:
            worker.end()
        else:
            self._tracing = worker
        return worker.cpu_seconds

    def _note(self, worker: Worker) -> None:
        self.last_cpu_seconds = worker.cpu_seconds
        self.cpu_seconds += worker.cpu_seconds
        if self.store is not None and worker.lines:
            self.last_new_lines = self.store.import_lines(worker.lines)

    def environment(self) -> dict[str, str]:
        """Return what a maintainer asks about the environment, from a fresh worker.

        The device alone when that worker dies: a finding is written with or without the rest.
        """
        try:
            worker = self._fork()
            found = worker.environment(self.limits, self.interrupted)
            worker.end()
        except (ServerLostError, WorkerDiedError):
            return {DEVICE: self.server.device}
        return found

    def start(self) -> None:
        """Fork the first worker, so that a faulty preload is told before anything else."""
        for left in reversed(range(LOSSES_BORNE)):
            generation = self.server.generation
            try:
                self._worker = self._fork()
                return
            except (ServerLostError, WorkerKilledError) as error:
                if not left:
                    raise WorkerError(f"no worker could be started: {error}") from None
                if isinstance(error, ServerLostError):
                    self._replace_server(generation)

    def _retrying(self, data: bytes, *, fresh: bool) -> Result:
        """Run `data` again when its worker or the server was taken away: no fault of `data`.

        One that kills itself looks like one that somebody else killed, so the last of
        KILLS_BELIEVED times it is believed of the sequence.
        """
        kills = losses = 0
        while True:
            generation = self.server.generation
            try:
                return self._once(data, fresh=fresh)
            except WorkerKilledError as killed:
                kills += 1
                if kills == KILLS_BELIEVED:
                    return death_result(killed.death, data, self.server.vocabulary)
            except ServerLostError as error:
                losses += 1
                if losses == LOSSES_BORNE:
                    raise WorkerError(
                        f"the server of the workers was lost {losses} times: {error}"
                    ) from None
                self._worker = None
                self._replace_server(generation)

    def _replace_server(self, lost: int) -> None:
        """Start another one; if that is killed while it loads, the next try finds it gone."""
        with suppress(ServerLostError):
            self.server.restart(lost)

    def _once(self, data: bytes, *, fresh: bool) -> Result:
        self.last_new_lines = 0
        worker = self._fork() if fresh else self._take()
        try:
            result = worker.execute(
                data,
                self.limits,
                self.interrupted,
                trace=self.trace_inline and not fresh,
                always_reset=self.always_reset,
                keep_reset=self.keep_reset,
                only_reset=self.only_reset,
            )
        except WorkerKilledError:
            raise
        except WorkerDiedError as died:
            return death_result(died.death, data, self.server.vocabulary)
        except BaseException:
            worker.end()
            raise
        self._note(worker)
        resident = worker.resident_bytes()
        if not fresh:
            self.resident_bytes = resident
        crowded = resident > CROWDED * (self.limits.resident_bytes + self.server.allowance)
        if fresh or result.alarms or crowded or worker.executions >= self.batch:
            worker.end()
        else:
            self._worker = worker
        return result

    def _take(self) -> Worker:
        worker, self._worker = self._present(self._worker), None
        return worker or self._fork()

    def _present(self, worker: Worker | None) -> Worker | None:
        """Return `worker` unless it went with a server that another slot has replaced."""
        if worker is not None and worker.generation != self.server.generation:
            worker.disconnect()
            return None
        return worker

    def _fork(self) -> Worker:
        self.forks += 1
        worker = self.server.fork()
        worker.wait_ready(self.limits, self.interrupted)
        return worker
