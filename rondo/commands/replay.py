"""`rondo replay`."""

from __future__ import annotations

from pathlib import Path

import click

from rondo.commands._options import DEVICE, FINDING, FRAMEWORK, PRELOAD, SUBJECT, timeout_option
from rondo.errors import EXIT_BUG, EXIT_OK


@click.command("replay")
@FINDING
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@timeout_option("Seconds it may take.")
@FRAMEWORK
@PRELOAD
@SUBJECT
@DEVICE
def command(
    file: Path,
    as_json: bool,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
    device: str,
) -> int:
    """Run a reproducer, or a plain .seq file, in a fresh process and compare the arms.

    Exit code 1: the bug shows. 0: it does not. 2: the file cannot be used.
    """
    from rondo.campaign.replay_table import print_json, print_table
    from rondo.campaign.replaying import replay_file

    replayed = replay_file(
        file,
        framework=framework,
        preloads=preloads,
        subject=subject,
        device=device,
        seconds=timeout,
    )
    (print_json if as_json else print_table)(replayed)
    return EXIT_BUG if replayed.alarm is not None else EXIT_OK
