"""Locating the fault of a file, each experiment in a fresh process with a deadline."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rondo.campaign.executor import Executor
from rondo.campaign.pool import (
    ExecutionFaultError,
    Limits,
    Server,
    ServerLostError,
    WorkerDiedError,
)
from rondo.campaign.preload import check_preloads
from rondo.campaign.workbench import framework_of
from rondo.errors import ReproducerError, RondoError
from rondo.findings.locate import Located, locate
from rondo.findings.overview import check_file
from rondo.findings.replay import Replayable, check_vocabulary, read, shown_alarm
from rondo.findings.reproducer import SUFFIX, Reproducer, check_target, save
from rondo.frameworks.base import Layer
from rondo.oracle.result import Alarm, Result, Verdict
from rondo.sequences.codec import decode
from rondo.sequences.step import describe


class LocateError(RondoError):
    """There is nothing to locate."""

    slug = "locate"


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Fresh workers for experiments."""

    server: Server
    executor: Executor

    @classmethod
    def of(cls, server: Server, seconds: float) -> Laboratory:
        """Return a laboratory whose experiments take at most `seconds` each."""
        executor = Executor(server, Limits(seconds), batch=1, interrupted=lambda: None)
        return cls(server, executor)

    def execute(self, data: bytes) -> Result | None:
        """Run `data` in a fresh process; None when it cannot be executed."""
        try:
            return self.executor.run_fresh(data)
        except ExecutionFaultError:
            return None

    def inspect(self, data: bytes, position: int) -> dict[str, Any]:
        """Ask a fresh process what a call relies on; empty when that kills it or cannot be said."""
        try:
            worker = self.server.fork()
            worker.wait_ready(self.executor.limits, self.executor.interrupted)
        except ServerLostError:
            return {}
        try:
            return worker.inspect(data, position, self.executor.limits, self.executor.interrupted)
        except (ExecutionFaultError, WorkerDiedError, ServerLostError):
            return {}
        finally:
            _end(worker)

    def layers(self) -> tuple[Layer, ...]:
        """Return what the compiler retains."""
        worker = self.server.fork()
        worker.wait_ready(self.executor.limits, self.executor.interrupted)
        try:
            found = worker.layers(self.executor.limits, self.executor.interrupted)
        finally:
            _end(worker)
        return tuple(Layer(**{**each, "drop": tuple(map(tuple, each["drop"]))}) for each in found)

    def locate(self, data: bytes, alarm: Alarm, *, thorough: bool = False) -> Located:
        """Locate the fault of `alarm` in the sequence `data`."""
        if alarm.identity.verdict == Verdict.MASKED.value:
            self.executor.always_reset = True
        vocabulary = self.server.vocabulary
        return locate(
            data,
            alarm,
            self.execute,
            self.inspect,
            vocabulary,
            self.layers(),
            thorough=thorough,
        )


def _end(worker: Any) -> None:
    try:
        worker.end()
    except ServerLostError:
        return


@dataclass(frozen=True, slots=True)
class LocatedFile:
    """What was found of a file."""

    file: Path
    decoded: dict[str, Any]
    alarm: Alarm
    located: Located


def locate_file(
    file: Path,
    *,
    framework: str = "torch",
    preloads: tuple[str, ...] = (),
    subject: str = "",
    device: str = "",
    seconds: float = 120.0,
    thorough: bool = False,
) -> LocatedFile:
    """Locate the fault of the finding in `file`. Raises RondoError."""
    check_preloads(preloads)
    replayable = read(file, framework=framework)
    name = framework_of(replayable, framework)
    server = Server(name, preloads=preloads, subject=subject, device=replayable.device(device))
    try:
        check_vocabulary(replayable, server.vocabulary)
        laboratory = Laboratory.of(server, seconds)
        alarm = shown_here(laboratory, replayable, file)
        located = laboratory.locate(replayable.data, alarm, thorough=thorough)
        sequence = decode(replayable.data, server.vocabulary)
        return LocatedFile(file, describe(sequence, server.vocabulary), alarm, located)
    finally:
        server.close()


def check_saving(file: Path) -> Reproducer:
    """Return what a layer is to be noted in. Raises RondoError where that cannot be done.

    To be asked before minutes are spent on it. A plain sequence has no place for a layer.
    """
    recorded = read(file).reproducer
    if recorded is None:
        raise LocateError(f"{file} is a plain sequence: there is no reproducer to note a layer in")
    check_target(file)
    return recorded


def save_layer(file: Path, located: Located) -> None:
    """Write the located layer into the reproducer `file`, where triage and buckets read it.

    The file keeps its time, which tells when the bug was first seen. Raises RondoError.
    """
    recorded = check_saving(file)
    seen = file.stat()
    save(replace(recorded, layer=located.layer), file)
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def locate_all(
    folder: Path,
    *,
    framework: str = "torch",
    preloads: tuple[str, ...] = (),
    subject: str = "",
    seconds: float = 120.0,
    tell: Callable[[Path, str], None],
) -> None:
    """Note the layer in every reproducer below `folder` that lacks one. Raises RondoError.

    A finding is noted before the next one is looked at, so whoever ends this loses nothing; one
    that cannot be located stays as it was, and `tell` is told why.
    """
    check_preloads(preloads)
    with ExitStack() as servers:
        started: dict[tuple[str, str], Server] = {}
        for path in sorted(folder.rglob(f"*{SUFFIX}")):
            try:
                check_file(path)
                replayable = read(path, framework=framework)
            except ReproducerError:
                continue  # the table tells of files that cannot be read
            if replayable.reproducer is None or replayable.reproducer.layer:
                continue
            check_target(path)
            name = framework_of(replayable, framework)
            place = name, replayable.device()
            if place not in started:
                started[place] = Server(name, preloads=preloads, subject=subject, device=place[1])
                servers.callback(started[place].close)
            server = started[place]
            try:
                check_vocabulary(replayable, server.vocabulary)
                laboratory = Laboratory.of(server, seconds)
                alarm = shown_here(laboratory, replayable, path)
                located = laboratory.locate(replayable.data, alarm)
                save_layer(path, located)
            except (LocateError, ReproducerError) as error:
                tell(path, f"not located: {error}")
            else:
                tell(path, f"{located.layer}: {located.why}")


def shown_here(laboratory: Laboratory, replayable: Replayable, file: Path) -> Alarm:
    """Return the alarm that the file shows here and now. Raises RondoError when it shows none."""
    recorded = replayable.reproducer
    if recorded is not None and recorded.identity.verdict == Verdict.LEAKED.value:
        raise LocateError(
            f"{file}: what leaks through a reset is in no layer that can be dropped, nor does a"
            " script show it; `rondo replay` does"
        )
    if recorded is not None and recorded.identity.verdict == Verdict.MASKED.value:
        laboratory.executor.always_reset = True
    try:
        result = laboratory.executor.run_fresh(replayable.data)
    except ExecutionFaultError as fault:
        raise ReproducerError(f"{file} cannot be executed: {str(fault).splitlines()[-1]}") from None
    alarm = shown_alarm(replayable, result)
    if alarm is None:
        seen = result.alarms[0].identity if result.alarms else result.verdict
        raise LocateError(f"{file}: the bug does not show here ({seen})")
    return alarm
