"""What `rondo audit --fresh` does: resets of files measured against fresh processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError, Limits, Server
from rondo.campaign.preload import check_preloads
from rondo.errors import ReproducerError
from rondo.findings.replay import check_vocabulary, read
from rondo.oracle.fresh import measure
from rondo.oracle.result import Alarm, Result, Verdict
from rondo.oracle.run import Settings

SUFFIXES = (".seq", ".rondo")


@dataclass(slots=True)
class Measured:
    """One file: how many of its reset arms were measured, and what had leaked."""

    file: Path
    verdict: str
    arms: int = 0
    leaks: list[Alarm] = field(default_factory=list)


def files_of(paths: tuple[Path, ...]) -> list[Path]:
    """Return the files at `paths`, and the sequences and reproducers in its folders."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
        files += inside if path.is_dir() else [path]
        if path.is_dir() and not inside:
            raise ReproducerError(f"no {' or '.join(SUFFIXES)} file in {path}")
    return files


def measured(
    paths: tuple[Path, ...], *, framework: str, preloads: tuple[str, ...], seconds: float
) -> Iterator[Measured]:
    """Measure file by file. Raises RondoError."""
    files = files_of(paths)
    check_preloads(preloads)
    contents = [read(file, framework=framework) for file in files]
    server = Server(framework, preloads=preloads)
    try:
        executor = Executor(server, Limits(seconds), batch=1, interrupted=lambda: None)
        for file, replayable in zip(files, contents, strict=True):
            check_vocabulary(replayable, server.vocabulary)
            runs: list[Settings] = []

            def run(data: bytes, settings: Settings, runs: list[Settings] = runs) -> Result:
                runs.append(settings)
                return executor.run_fresh_as(data, settings)

            try:
                result = measure(replayable.data, run, server.vocabulary)
            except ExecutionFaultError as fault:
                last = str(fault).splitlines()[-1]
                raise ReproducerError(f"{file} cannot be executed: {last}") from None
            leaks = [each for each in result.alarms if _is_leak(each)]
            yield Measured(file, result.verdict, len(runs) - 1, leaks)
    finally:
        server.close()


def _is_leak(alarm: Alarm) -> bool:
    return alarm.identity.verdict == Verdict.LEAKED.value


def report(each: Measured) -> None:
    """Print one file's outcome, a line and a line for each difference."""
    click.echo(f"{each.file}: {each.verdict}, {each.arms} reset arms measured")
    for alarm in each.leaks:
        click.echo(f"  step {alarm.step}: {alarm.identity}")
        for row in alarm.differences:
            click.echo(f"    {row.path}: {row.reset}")
