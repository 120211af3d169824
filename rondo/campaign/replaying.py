"""Replaying a file in a worker of its own, so that one which crashes is shown and not suffered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError, Server
from rondo.campaign.preload import check_preloads
from rondo.campaign.workbench import framework_of, limits_for, run_showing
from rondo.errors import ReproducerError
from rondo.findings.bucket import find_alarm
from rondo.findings.replay import (
    Replayable,
    check_vocabulary,
    missing_preloads,
    read,
    shown_alarm,
)
from rondo.oracle.result import Alarm, Result
from rondo.sequences.codec import decode
from rondo.sequences.step import describe


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay showed. `alarm` is the one that confirms the bug, None when it is gone."""

    file: Path
    replayable: Replayable
    decoded: dict[str, Any]
    result: Result
    alarm: Alarm | None
    missing_preloads: tuple[str, ...] = ()


def replay_file(
    file: Path,
    *,
    framework: str = "torch",
    preloads: tuple[str, ...] = (),
    subject: str = "",
    device: str = "",
    seconds: float = 120.0,
) -> Replayed:
    """Replay `file` once in a fresh process, on the device that it was made on unless told.

    Raises RondoError.
    """
    check_preloads(preloads)
    replayable = read(file, framework=framework)
    recorded = replayable.reproducer
    name = framework_of(replayable, framework)
    server = Server(name, preloads=preloads, subject=subject, device=replayable.device(device))
    try:
        check_vocabulary(replayable, server.vocabulary)
        executor = Executor(
            server,
            limits_for(replayable, seconds),
            batch=1,
            interrupted=lambda: None,
        )
        verdict = recorded.identity.verdict if recorded else ""
        result = run_showing(verdict, replayable.data, executor, server.vocabulary)
    except ExecutionFaultError as fault:
        raise ReproducerError(f"{file} cannot be executed: {str(fault).splitlines()[-1]}") from None
    finally:
        server.close()
    if recorded is not None and recorded.death:
        alarm = find_alarm(result, recorded.identity, strict=False)
    else:
        alarm = shown_alarm(replayable, result)
    return Replayed(
        file,
        replayable,
        describe(decode(replayable.data, server.vocabulary), server.vocabulary),
        result,
        alarm,
        missing_preloads(replayable, preloads),
    )
