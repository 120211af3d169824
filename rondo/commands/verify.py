"""`rondo verify`."""

from __future__ import annotations

import json
from dataclasses import asdict
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
    from rondo.campaign.verifying import Outcome

EXIT_NOT_VERIFIED = 1


@click.command("verify")
@FINDING
@click.option(
    "--times",
    default=10,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="Fresh processes to run it in.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@timeout_option("Seconds each may take.")
@FRAMEWORK
@PRELOAD
@SUBJECT
@DEVICE
def command(
    file: Path,
    times: int,
    as_json: bool,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
    device: str,
) -> int:
    """Run a reproducer in fresh processes; it is verified when every one shows its bug.

    An error, a timeout or another bug counts against it. Exit code 0: verified. 1: not. 2: the file
    cannot be used.
    """
    from rondo.campaign.verifying import verify_file

    note_missing_preloads(file, preloads, framework)

    def report(number: int, outcome: Outcome) -> None:
        if not as_json:
            click.echo(f"{number + 1:>3}  {outcome.told}")

    verification = verify_file(
        file,
        times=times,
        framework=framework,
        preloads=preloads,
        subject=subject,
        device=device,
        seconds=timeout,
        report=report,
    )
    shown = f"{verification.shown} of {times}"
    if as_json:
        expected = verification.expected
        click.echo(
            json.dumps(
                {
                    "file": str(file),
                    "verified": verification.verified,
                    "shown": verification.shown,
                    "times": times,
                    "expected": asdict(expected) if expected else None,
                    "outcomes": [asdict(outcome) for outcome in verification.outcomes],
                }
            )
        )
    else:
        click.echo(f"{'verified' if verification.verified else 'NOT verified'}: {shown}")
    return EXIT_OK if verification.verified else EXIT_NOT_VERIFIED
