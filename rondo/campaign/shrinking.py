"""Shrinking a file: what `rondo shrink` does, without a terminal.

The key insight: nothing may be lost. The trials lie beside the file as they are made, the best form
so far is written when somebody ends it, and a form that fresh processes do not show twice is never
written at all.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from os.path import basename
from pathlib import Path
from typing import Any

from rondo.campaign.deaths import DIED
from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.stop import Stop, StoppedError
from rondo.campaign.workbench import Workbench, framework_of, open_workbench
from rondo.errors import ArtifactError, ReproducerError
from rondo.findings import reproducer as files
from rondo.findings.bucket import Bucket, bucket_of, find_alarm
from rondo.findings.depth import compiled_anew
from rondo.findings.replay import Replayable, read
from rondo.findings.reproducer import Reproducer
from rondo.findings.shorten import Progress, Shortened, Shortener
from rondo.findings.trials import Showing, Trials
from rondo.oracle.result import Result
from rondo.sequences.codec import decode

CONFIRMATIONS = 2
"""Fresh processes that must show a bug before it is shortened, and its short form afterwards."""
TRIALS_SUFFIX = ".trials"
SHORT_SUFFIX = ".short.rondo"


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What became of a file. `taken_over` counts the trials that an earlier run had made."""

    short: Shortened
    reproducer: Reproducer
    bucket: Bucket
    path: Path
    interrupted: bool
    taken_over: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """What to shrink, and how. `resume` takes over the trials of an earlier run."""

    file: Path
    out: Path
    framework: str = "torch"
    preloads: tuple[str, ...] = ()
    subject: str = ""
    seconds: float = 120.0
    workers: int = 1
    resume: bool = False
    device: str = ""

    @property
    def trials(self) -> Path:
        """Where the trials are kept while it lasts."""
        return self.file.with_name(self.file.name + TRIALS_SUFFIX)


def default_out(file: Path) -> Path:
    """Return where the short form of `file` goes unless it is told: beside it."""
    return file.with_name(file.stem + SHORT_SUFFIX)


def shrink_file(request: Request, stop: Stop, progress: Progress) -> Shrunk:
    """Shrink a file to 1-minimal and write the result. Raises RondoError.

    When `stop` is requested meanwhile, the best form so far is written. StoppedError is raised only
    when there is none yet.
    """
    replayable = read(request.file, framework=request.framework)
    if request.out.resolve() == request.trials.resolve():
        raise ArtifactError(f"{request.out} is where the trials are kept: write somewhere else")
    with (
        _alone(request.file),
        open_workbench(
            framework_of(replayable, request.framework),
            preloads=request.preloads,
            subject=request.subject,
            device=replayable.device(request.device),
            seconds=request.seconds,
            workers=request.workers,
            interrupted=stop.check,
        ) as bench,
    ):
        bench.prepare(replayable)
        start = shown_twice(bench, replayable)
        return _Job(request, bench, replayable, start, bench.environment()).run(progress)


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Hold `file` for as long as it is shrunk: two at once would write into each other's trials.

    Raises ReproducerError where somebody else does. Where a file system keeps no locks, nobody is
    refused.
    """
    try:
        held = file.open("rb")
    except OSError as error:
        raise ReproducerError(f"cannot read {file}: {error.strerror or error}") from None
    with held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ReproducerError(f"{file} is being shrunk by another process") from None
        except OSError:
            pass
        yield


@dataclass(frozen=True, slots=True)
class _Job:
    """A file whose bug shows here, about to be shortened."""

    request: Request
    bench: Workbench
    replayable: Replayable
    start: Showing
    environment: dict[str, str]

    def run(self, progress: Progress) -> Shrunk:
        """Shorten, write, and drop the trials once nobody needs them any more."""
        trials = Trials()
        taken_over = trials.keep_in(self.request.trials, self.header(), resume=self.request.resume)
        shortener = self.shortener(trials, progress)
        result, interrupted = None, False
        try:
            short = shortener.run()
            _check_steps(short)
            result = _confirmed(self.bench, short)
        except StoppedError:
            interrupted = True
            short = shortener.stopped("it was interrupted")
        except OSError as error:
            raise ArtifactError(
                f"cannot write {self.request.trials}: {error.strerror or error};"
                " once it can be, --resume goes on"
            ) from None
        finally:
            with suppress(OSError):  # what did not fit is half a trial, which a resumed run drops
                trials.close()
        reproducer = self.reproducer(short, result)
        files.save(reproducer, self.request.out)
        if short.minimal:
            self.request.trials.unlink(missing_ok=True)
        bucket = bucket_of(short.alarm.identity, decode(short.data, self.bench.vocabulary))
        return Shrunk(short, reproducer, bucket, self.request.out, interrupted, taken_over)

    def header(self) -> dict[str, Any]:
        """Return what the trials are about: with another start they would mean nothing."""
        return {
            "start": self.replayable.data,
            "identity": asdict(self.start.alarm.identity),
            "environment": self.environment,
        }

    def shortener(self, trials: Trials, progress: Progress) -> Shortener:
        """Return a shortener without a bound, which runs as many candidates at once as asked."""
        return Shortener(
            self.replayable.data,
            self.start.alarm,
            self.bench.run,
            self.bench.vocabulary,
            budget=None,
            progress=progress,
            trials=trials,
            execute_all=self.bench.run_all,
            width=self.request.workers,
            anew=self.start.anew,
        )

    def reproducer(self, short: Shortened, result: Result | None) -> Reproducer:
        """Return what is written; what the file recorded about its origin is kept."""
        recorded = self.replayable.reproducer
        return files.compose(
            short.data,
            short.alarm,
            self.bench.vocabulary,
            result=result,
            environment=self.environment,
            original=(recorded.original if recorded else b"") or self.replayable.data,
            preloads=tuple(map(basename, self.request.preloads)),
            death=recorded.death if recorded else "",
            minimal=short.minimal,
            reason=short.reason,
            layer=recorded.layer if recorded else "",
            memory_mb=recorded.memory_mb if recorded else 0,
        )


def shown_twice(bench: Workbench, replayable: Replayable) -> Showing:
    """Return the alarm that fresh processes show from the file's bytes; plain files: the first.

    Raises ReproducerError when they do not, or not all of them.
    """
    shown: Showing | None = None
    recorded = replayable.reproducer
    identity = recorded.identity if recorded else None
    for number in range(CONFIRMATIONS):
        result = _run(bench, replayable.data)
        if identity is not None:
            alarm = find_alarm(result, identity, strict=True) or find_alarm(
                result, identity, strict=False
            )
        else:
            alarm = next(iter(result.alarms), None)
        if alarm is None:
            seen = "flaky: the bug does not always show" if number else "the bug does not show here"
            raise ReproducerError(f"{seen} ({_seen(result)}); nothing to shrink")
        identity = alarm.identity
        shown = Showing(alarm, compiled_anew(result, alarm))
    assert shown is not None
    return shown


def _seen(result: Result) -> str:
    return str(result.alarms[0].identity) if result.alarms else result.verdict


def _run(bench: Workbench, data: bytes) -> Result:
    """Return the result of a fresh process. Raises ReproducerError when there is none."""
    try:
        return bench.run(data)
    except ExecutionFaultError as fault:
        told = str(fault).strip().splitlines()[-1]
        raise ReproducerError(f"it cannot be executed: {told}") from None


def _check_steps(short: Shortened) -> None:
    """Raise ReproducerError where a death needs no step at all: no sequence is to blame for it."""
    if short.alarm.identity.verdict == DIED and not short.steps_after:
        raise ReproducerError(
            f"workers die here whatever they run ({short.alarm.identity}); is a disk full?"
        )


def _confirmed(bench: Workbench, short: Shortened) -> Result:
    """Return a fresh result that shows the short form's alarm. Raises ReproducerError if flaky."""
    result = Result("")
    for _ in range(CONFIRMATIONS):
        result = _run(bench, short.data)
        if short.alarm.identity not in [alarm.identity for alarm in result.alarms]:
            raise ReproducerError(
                f"flaky: fresh processes do not always show the short form ({_seen(result)});"
                " nothing was written"
            )
    return result
