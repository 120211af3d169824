"""The driver's end of the server and of the workers: time, memory and deaths are watched here.

The key insight: the driver talks to each worker directly and asks the server only to fork one and
to wait for one. Deadlines and limits are then decisions of one process, and more workers are more
connections to look at, not more protocol. Whoever waits here lets the other slots go on (`turns`).
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rondo.campaign import wire
from rondo.campaign.deaths import SLOW, Cause, Death, classify
from rondo.campaign.journal import Entry, Journal, progress_of
from rondo.campaign.processes import (
    RunQueueTime,
    has_ended,
    is_stopped,
    kernel_kills,
    kill_group,
    resident_bytes,
    resume_group,
)
from rondo.campaign.turns import Turns
from rondo.drafts import temporary_folder
from rondo.errors import PreloadError, RondoError, WorkerError
from rondo.frameworks.base import CPU
from rondo.oracle.result import Result
from rondo.sequences.vocabulary import Vocabulary

TICK = 0.05
"""Seconds between two looks at a worker's memory."""
LOOK_SECONDS = 1.0
"""Seconds between two looks at how long a worker, and what it started, waited for a core."""
GRACE = 5.0
"""Seconds that a process gets to end before it is killed."""
ANSWER_SECONDS = 30.0
"""Seconds that the server gets to answer, and a worker to finish a message that it has begun."""
START_SECONDS = 300.0
"""Seconds that a framework gets to be imported."""
STOPPED_SECONDS = 1.0
"""Seconds that a process may stay stopped (SIGSTOP) before it is told to go on."""
GAP = 5.0
"""A look at a worker that comes so late means that this process was stopped itself: the worker gets
the time back, instead of being taken for one that hangs."""
RUNTIME_BYTES = 8 << 30
"""Memory of the host that is no program's: a GPU's runtime maps its libraries and kernels into each
process, a few GiB with all of torch's. It is granted on top of the limit where there is one."""
LAST_WORDS = 4000
"""Bytes of a dead worker's output that are kept."""

Interrupted = Callable[[], None]
"""Called at every tick; raises when the campaign should stop waiting."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one execution may use, and how long a new worker's preloads may take.

    `seconds` are for one step of one arm: a compiler that takes its time with each of many calls
    does not hang. All steps together may take SLOW times as long.
    """

    seconds: float = 60.0
    resident_bytes: int = 4096 << 20
    ready_seconds: float = 60.0


class FrameworkError(RondoError):
    """The server could not load the framework; the sentence is its own."""


class WorkerDiedError(Exception):
    """A worker did not survive an execution. Not an error: `death` tells what it means."""

    def __init__(self, death: Death) -> None:
        super().__init__(death)
        self.death = death


class WorkerKilledError(WorkerDiedError):
    """Somebody killed a worker: neither the driver, nor the kernel for want of memory."""


class ServerLostError(Exception):
    """The server died and took the worker with it; nothing can be said of what was running."""


class ExecutionFaultError(Exception):
    """Rondo itself, or a subject's own code, raised while it ran a sequence."""


class Worker:
    """One forked worker. It is used by one caller at a time."""

    def __init__(self, server: Server, pid: int, connection: socket.socket, folder: Path) -> None:
        self.pid = pid
        self.executions = 0
        self.lines = b""
        self.cpu_seconds = 0.0
        self.generation = server.generation
        self._server = server
        self._connection = connection
        self._folder = folder
        self._journal = folder / "journal"
        self._kernel_kills = kernel_kills()

    def wait_ready(self, limits: Limits, interrupted: Interrupted) -> None:
        """Wait until the preloads have run. Raises PreloadError, or WorkerError on a death."""
        try:
            answer = self._answer(replace(limits, seconds=limits.ready_seconds), interrupted)
        except WorkerKilledError:
            raise
        except WorkerDiedError as died:
            death = died.death
            how = f"{death.cause.value} {death.detail}".strip()
            if self._server.preloads:
                raise PreloadError(f"a --preload file ended the worker ({how})") from None
            raise WorkerError(f"a worker ended before it ran anything ({how})") from None
        if "preload" in answer:
            self.end()
            raise PreloadError(str(answer["preload"]))

    def execute(
        self,
        data: bytes,
        limits: Limits,
        interrupted: Interrupted,
        *,
        trace: bool = False,
        always_reset: bool = False,
        keep_reset: bool = False,
        only_reset: int | None = None,
    ) -> Result:
        """Run `data`. Raises WorkerDiedError or ExecutionFaultError; the first ends this worker.

        With `trace`, `lines` holds what the run added to this worker's lines, as
        `LineStore.import_lines` reads it. `cpu_seconds` is what it took, compilers included.
        """
        self.executions += 1
        self.lines, self.cpu_seconds = b"", 0.0
        message = {
            "data": data,
            "trace": trace,
            "always_reset": always_reset,
            "keep_reset": keep_reset,
            "only_reset": only_reset,
        }
        answer = self._ask(message, limits, interrupted)
        self.lines, self.cpu_seconds = answer.get("lines", b""), answer.get("cpu", 0.0)
        if "fault" in answer:
            raise ExecutionFaultError(str(answer["fault"]))
        return Result.from_data(answer["result"])

    def environment(self, limits: Limits, interrupted: Interrupted) -> dict[str, str]:
        """Return what a maintainer asks about the environment."""
        found: dict[str, str] = self._ask({"environment": 1}, limits, interrupted)["environment"]
        return found

    def layers(self, limits: Limits, interrupted: Interrupted) -> list[dict[str, Any]]:
        """Return what the compiler retains between calls, as `Framework.layers` describes it."""
        found: list[dict[str, Any]] = self._ask({"layers": 1}, limits, interrupted)["layers"]
        return found

    def inspect(
        self, data: bytes, position: int, limits: Limits, interrupted: Interrupted
    ) -> dict[str, Any]:
        """Return what the retained call at `position` relies on, as `Framework.inspect` says it.

        Raises WorkerDiedError or ExecutionFaultError.
        """
        answer = self._ask({"data": data, "inspect": position}, limits, interrupted)
        if "fault" in answer:
            raise ExecutionFaultError(str(answer["fault"]))
        inspection: dict[str, Any] = answer["inspection"]
        return inspection

    def resident_bytes(self) -> int:
        """Return the memory this worker holds."""
        return resident_bytes(self.pid)

    def disconnect(self) -> None:
        """Close the connection, at which an idle worker ends."""
        self._connection.close()

    def hang_up(self) -> None:
        """End the conversation, whoever waits for an answer: another thread may."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def end(self) -> int:
        """End this worker and return its raw wait status. Raises ServerLostError."""
        self.disconnect()
        status = self._server.end(self)
        with self._server.turns.away():
            shutil.rmtree(self._folder, ignore_errors=True)
        return status

    def _ask(self, message: wire.Message, limits: Limits, interrupted: Interrupted) -> wire.Message:
        with suppress(wire.WireError):  # a death shows when the answer is read
            wire.send(self._connection, message)
        return self._answer(limits, interrupted)

    def _answer(self, limits: Limits, interrupted: Interrupted) -> wire.Message:
        with self._server.turns.away():
            ended, killed_for = self._watch(limits, interrupted)
            answer = None
            if not ended:
                try:
                    answer = wire.receive(self._connection)
                except wire.WireError:
                    self._wait_for_the_end()
        if answer is None:
            raise self._autopsy(killed_for)
        return answer

    def _watch(self, limits: Limits, interrupted: Interrupted) -> tuple[bool, Cause | None]:
        """Wait until there is an answer to read: (False, None), or none will come: (True, why)."""
        looked = time.monotonic()
        deadline, last = looked + limits.seconds, looked + SLOW * limits.seconds
        queue, waited, stopped_since = RunQueueTime(self.pid), 0.0, 0.0
        due, step = looked, b""
        while True:
            interrupted()
            if select.select([self._connection], [], [], TICK)[0]:
                return False, None
            now = time.monotonic()
            if now - looked > GAP:
                deadline, last = deadline + now - looked, last + now - looked
            looked = now
            if now >= min(due, deadline):
                due = now + min(LOOK_SECONDS, limits.seconds / 2)
                # Neither a gap nor a crowded machine is the worker's doing: a false hang is an
                # alarm like any other. Time on a run queue grows slower than time, so this ends.
                waiting = queue.look() - waited
                if waiting >= TICK:
                    deadline, last = deadline + waiting, last + waiting
                    waited += waiting
                at = progress_of(self._journal)
                if at != step:
                    step, deadline = at, now + limits.seconds
                if now >= min(deadline, last):
                    return True, Cause.TIMEOUT if now >= deadline else Cause.SLOWNESS
            if resident_bytes(self.pid) > limits.resident_bytes + self._server.allowance:
                return True, Cause.MEMORY
            if has_ended(self.pid):
                return True, None
            stopped_since = _nudged(self.pid, now, stopped_since)

    def _wait_for_the_end(self) -> None:
        """Wait for a worker whose connection is closed; killing it now would hide why it ends."""
        deadline = time.monotonic() + GRACE
        while not has_ended(self.pid) and time.monotonic() < deadline:
            time.sleep(0.005)

    def _autopsy(self, killed_for: Cause | None) -> WorkerDiedError:
        if killed_for is None and not has_ended(self.pid):
            killed_for = Cause.EXIT
        entry, output = Entry(b""), ""
        with suppress(OSError):
            entry = Journal(self._journal).read() or entry
            with open(self._folder / "output", "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_WORDS))
                output = file.read().decode(errors="replace")
        status = self.end()
        if killed_for is None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            kills = kernel_kills()
            if kills is not None and kills == self._kernel_kills:
                return WorkerKilledError(Death(Cause.SIGNAL, "SIGKILL", entry, output))
        return WorkerDiedError(classify(status, entry, output=output, killed_for=killed_for))


def _nudged(pid: int, now: float, stopped_since: float) -> float:
    """Have `pid` go on if it has been stopped for long; return since when it is stopped, or 0.

    A stop is nobody's finding, and a slot that waits for one to end does nothing for all that time.
    """
    if not is_stopped(pid):
        return 0.0
    if not stopped_since:
        return now
    if now - stopped_since < STOPPED_SECONDS:
        return stopped_since
    resume_group(pid)
    return 0.0


class Server:
    """The server process: started, asked for workers, restarted when it is lost, ended."""

    def __init__(
        self,
        framework: str,
        *,
        preloads: tuple[str, ...] = (),
        subject: str = "",
        device: str = CPU,
        device_limit_mb: int = 0,
        interrupted: Interrupted = lambda: None,
        turns: Turns | None = None,
    ) -> None:
        self._interrupted = interrupted
        self.turns = turns or Turns()
        self.subject = subject
        self.device = device
        """What was asked for, and once the server runs what that is."""
        self.device_limit_mb = device_limit_mb
        self.framework = framework
        self.preloads = tuple(os.path.abspath(path) for path in preloads)
        self.folder = temporary_folder()
        self.restarts = 0
        """How often it was lost and replaced."""
        self._workers: set[Worker] = set()
        # The kernel tells a process of the end of the *thread* that started it, so that thread must
        # live as long as the server: a slot that restarts one may end before the campaign does.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="starter")
        self.trees: tuple[str, ...] = ()
        try:
            self.vocabulary: Vocabulary = self._start()
        except ServerLostError as error:
            self.close()
            raise WorkerError(f"{framework} could not be loaded: {error}") from None

    def fork(self) -> Worker:
        """Return a new worker, not yet ready. Raises ServerLostError."""
        wire_lost = "no connection to a new worker"
        try:
            answer = self._ask({"do": "fork"})
            self._await_server()
            _, files, _, _ = socket.recv_fds(self._connection, 1, 1)
        except (wire.WireError, OSError) as error:
            raise ServerLostError(f"{wire_lost}: {error}") from None
        if not files:
            raise ServerLostError(wire_lost)
        connection = socket.socket(fileno=files[0])
        connection.settimeout(ANSWER_SECONDS)
        worker = Worker(self, answer["pid"], connection, Path(answer["folder"]))
        self._workers.add(worker)
        return worker

    @property
    def allowance(self) -> int:
        """Bytes that a worker may hold beyond its limit: what the device's runtime maps."""
        return 0 if self.device == CPU else RUNTIME_BYTES

    @property
    def generation(self) -> int:
        """Number of the present server process; a worker of an earlier one is gone with it."""
        return self.restarts

    def restart(self, lost: int) -> None:
        """Replace the server of generation `lost`, unless another slot has done so.

        Raises ServerLostError when somebody killed the new one before it was there.
        """
        if lost != self.generation:
            return
        self.restarts += 1
        self._stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._start()

    def end(self, worker: Worker) -> int:
        """End `worker`; return its raw wait status. Raises ServerLostError."""
        self._workers.discard(worker)
        if worker.generation != self.generation:
            raise ServerLostError("the worker's server is gone")
        try:
            status: int = self._ask({"do": "end", "pid": worker.pid})["status"]
        except wire.WireError as error:
            raise ServerLostError(str(error)) from None
        return status

    def _ask(self, request: wire.Message) -> wire.Message:
        """Return the server's answer; others wait, since it answers one question at a time."""
        wire.send(self._connection, request)
        self._await_server()
        return wire.receive(self._connection)

    def _await_server(self) -> None:
        """Wait until the server says something. Raises WireError when it does not."""
        began = time.monotonic()
        stopped_since = 0.0
        while not select.select([self._connection], [], [], TICK)[0]:
            now = time.monotonic()
            if now - began > ANSWER_SECONDS:
                raise wire.WireError("the server does not answer")
            stopped_since = _nudged(self._process.pid, now, stopped_since)

    def close(self) -> None:
        """End the server, its workers and their files."""
        self._stop()
        self._starter.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> Vocabulary:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "rondo.campaign.server"]
        command += ["--connection", str(theirs.fileno()), "--parent", str(os.getpid())]
        command += ["--framework", self.framework, "--folder", str(self.folder)]
        for path in self.preloads:
            command += ["--preload", path]
        if self.subject:
            command += ["--subject", self.subject]
        command += ["--device", self.device, "--device-limit-mb", str(self.device_limit_mb)]
        self.folder.mkdir(exist_ok=True)
        self._log = self.folder / "server"
        with open(self._log, "wb") as log:
            self._process = self._starter.submit(
                subprocess.Popen,
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **self._environment()},
                start_new_session=True,
            ).result()
        theirs.close()
        self._connection = ours
        try:
            self._wait_for_hello()
            hello = wire.receive(ours)
        except wire.WireError as error:
            said = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
            self._stop()
            if self._process.returncode == -signal.SIGKILL:
                raise ServerLostError("the server was killed while it loaded") from None
            self.close()
            raise WorkerError(f"{self.framework} could not be loaded: {said or error}") from None
        if "error" in hello:
            self.close()
            raise FrameworkError(hello["error"])
        ours.settimeout(ANSWER_SECONDS)
        self.trees = tuple(hello["trees"])
        self.device = hello["device"]
        return wire.vocabulary_from_data(hello["vocabulary"])

    def _wait_for_hello(self) -> None:
        """Wait until the server says something. Raises WorkerError when it does not come to it."""
        deadline = time.monotonic() + START_SECONDS
        while not select.select([self._connection], [], [], TICK)[0]:
            try:
                self._interrupted()
            except BaseException:
                self.close()
                raise
            if time.monotonic() > deadline:
                self.close()
                raise WorkerError(f"{self.framework} is not loaded after {START_SECONDS:.0f} s")

    def _environment(self) -> dict[str, str]:
        """Return what the framework must find in its environment.

        One thread, because children of a process that ran a parallel region hang; no compile
        workers, because they would be processes that nobody watches; one hash seed, so that sets
        are walked in one order; and torch is to ask NVML whether there is a GPU, since asking CUDA
        starts it, and children of such a process cannot use it.
        """
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        return {
            "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            "TMPDIR": str(temporary),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }

    def _stop(self) -> None:
        for worker in self._workers:
            worker.hang_up()
        self._workers.clear()
        self._connection.close()
        self._process.terminate()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
            self._process.wait()
