"""`rondo shrink`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rondo.commands._options import (
    DEVICE,
    FINDING,
    FRAMEWORK,
    PRELOAD,
    SUBJECT,
    note_missing_preloads,
    timeout_option,
)
from rondo.errors import EXIT_OK

if TYPE_CHECKING:
    from rondo.campaign.shrinking import Shrunk


SIGNALLED = 128
"""Ended by signal n, it leaves with 128 + n, as campaigns do: 130 after Ctrl-C."""


@click.command("shrink")
@FINDING
@click.option("--out", type=click.Path(path_type=Path), help="Where to.  [FILE.short.rondo]")
@click.option("--resume", is_flag=True, help="Go on where an interrupted run ended.")
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Candidates to run at the same time; the result does not depend on it.",
)
@timeout_option("Seconds a candidate may take.")
@FRAMEWORK
@PRELOAD
@SUBJECT
@DEVICE
def command(
    file: Path,
    out: Path | None,
    resume: bool,
    workers: int,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
    device: str,
) -> int:
    """Shorten a reproducer, or a plain .seq file, until nothing more can go.

    Every step, construct, option, size and operand of the result was taken away in turn, and each
    time the bug was gone. Ctrl-C writes the best form so far; --resume goes on from there.
    """
    from rondo.campaign.shrinking import Request, default_out, shrink_file
    from rondo.campaign.stop import Stop, StoppedError
    from rondo.findings.reproducer import check_target
    from rondo.report.shrinking import shown_progress

    note_missing_preloads(file, preloads, framework)
    out = out or default_out(file)
    check_target(out)
    request = Request(file, out, framework, preloads, subject, timeout, workers, resume, device)
    stop = Stop()
    try:
        with stop.listening(), shown_progress() as progress:
            shrunk = shrink_file(request, stop, progress)
    except StoppedError:
        click.echo("interrupted before anything was shorter; nothing was written", err=True)
        return SIGNALLED + stop.signal
    for line in told(shrunk):
        click.echo(line)
    if shrunk.interrupted:
        click.echo("the same command with --resume goes on", err=True)
        return SIGNALLED + stop.signal
    if not shrunk.short.minimal:
        click.echo("the same command with --resume tries those again", err=True)
    return EXIT_OK


def told(shrunk: Shrunk) -> list[str]:
    """Return what is printed at the end: the steps, the bucket, how far it went and where to."""
    short = shrunk.short
    lines = [
        f"step {number}: {step}" for number, step in enumerate(shrunk.reproducer.decoded["steps"])
    ]
    lines.append(f"bucket: {shrunk.bucket}")
    if short.minimal:
        how = f"1-minimal: each of {short.removals} single removals loses the bug"
    else:
        how = f"not known to be minimal: {short.reason}"
    lines.append(
        f"{short.steps_before} -> {short.steps_after} steps in {short.executions} runs; {how}"
    )
    lines.append(f"written to {shrunk.path}")
    return lines
