"""`rondo triage`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rondo.commands._options import FRAMEWORK, KNOWN_FILE, PRELOAD, SUBJECT, timeout_option

if TYPE_CHECKING:
    from rondo.findings.overview import Overview

LOG_WIDTH = 200
"""Columns where there is no terminal to ask."""
STYLES = {"new": "bold red", "known": "green", "documented": "dim", "flaky": "yellow"}


@click.command("triage")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--locate",
    "locates",
    is_flag=True,
    help="First note the guilty layer in every reproducer that lacks one.",
)
@timeout_option("Seconds an experiment may take.")
@KNOWN_FILE
@FRAMEWORK
@PRELOAD
@SUBJECT
def command(
    folder: Path,
    as_json: bool,
    locates: bool,
    timeout: float,
    known_file: Path | None,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
) -> None:
    """List the bugs below FOLDER, a row each: new, known, documented, flaky.

    FOLDER may hold the findings of one campaign or of many. Known is what `rondo known add` noted.
    With --locate each finding takes a dozen fresh processes; without, nothing is run.
    """
    from rondo.findings.known import known_below
    from rondo.findings.overview import check_findings, overview_of

    check_findings(folder)
    if locates:
        from rondo.campaign.locating import locate_all

        locate_all(
            folder,
            framework=framework,
            preloads=preloads,
            subject=subject,
            seconds=timeout,
            tell=lambda path, text: click.echo(f"{path.parent.name}: {text}", err=True),
        )
    overview = overview_of(folder, known_below(folder, known_file))
    if as_json:
        json.dump(asdict(overview), sys.stdout)
        click.echo()
    else:
        print_table(overview)
    for line in overview.unreadable:
        click.echo(f"not counted: {line}", err=True)


def print_table(overview: Overview) -> None:
    """Print the rows, and how many there are of each status."""
    from collections import Counter

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else LOG_WIDTH)
    table = Table("status", "count", "steps", "first seen", "bug", box=None, pad_edge=False)
    for row in overview.rows:
        steps = "" if row.steps is None else str(row.steps) + ("" if row.minimal else "+")
        bug = Text(row.title)
        if row.layer:
            bug.append(f", layer {row.layer}")
        for line in (row.bucket, row.url, row.path):
            if line:
                bug.append(f"\n  {line}", style="dim")
        status = Text(row.status, style=STYLES.get(row.status, ""))
        table.add_row(status, str(row.count), steps, row.first_seen, bug)
    if overview.rows:
        console.print(table)
    counts = Counter(row.status for row in overview.rows)
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    click.echo(told or "no findings")
    if any(row.steps is not None and not row.minimal for row in overview.rows):
        click.echo("+: not known to be minimal; rondo shrink FILE goes on")
