"""`rondo bugs`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rondo.commands._options import timeout_option
from rondo.errors import EXIT_OK

if TYPE_CHECKING:
    from rondo.campaign.bug_check import Checked

EXIT_NOT_AS_RECORDED = 1
LOG_WIDTH = 200
"""Columns where there is no terminal to ask."""
STYLES = {"yes": "green", "NO": "bold red", "gone: news": "bold yellow", "skipped": "dim"}


@click.group("bugs")
def command() -> None:
    """Keep a gallery of bugs, a folder each."""


@command.command("check")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("bench/bugs"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--scripts", is_flag=True, help="Run the script of every entry as well.")
@click.option(
    "--framework",
    default="",
    metavar="NAME",
    help="Only bugs of this one; or MODULE:NAME, an adapter to load for all of them.",
)
@timeout_option("Seconds each run may take.", default=300.0)
def check(folder: Path, as_json: bool, scripts: bool, framework: str, timeout: float) -> int:
    """Replay every bug below FOLDER on what is installed, each in a fresh process.

    FOLDER is bench/bugs unless told otherwise; each folder in it that holds a bug.toml is one bug.

    Exit code 0: each shows what was recorded for the version that is installed. Where nothing was
    recorded for that version, the nearest older record counts, and a bug that is gone is news. 1:
    one does not. 2: an entry cannot be used.
    """
    from rondo.campaign.bug_check import check_bugs
    from rondo.findings.bugs import BugError, Outcome, read_bugs

    adapter = framework if ":" in framework else ""
    bugs = [bug for bug in read_bugs(folder) if adapter or framework in ("", bug.framework)]
    if not bugs:
        raise BugError(f"no bug of {framework} in {folder}")
    rows = []
    for row in check_bugs(bugs, adapter=adapter, scripts=scripts, seconds=timeout):
        rows.append(row)
        if not as_json:
            click.echo(f"{len(rows)} of {len(bugs)} {row.bug.name}: {row.outcome.value}", err=True)
    good = all(row.outcome is not Outcome.OTHER for row in rows)
    if as_json:
        json.dump({"good": good, "bugs": [_plain(row) for row in rows]}, sys.stdout)
        click.echo()
    else:
        _print(rows)
    return EXIT_OK if good else EXIT_NOT_AS_RECORDED


def _plain(row: Checked) -> dict[str, Any]:
    """Return a row as JSON has it."""
    data = asdict(row)
    bug = data.pop("bug")
    bug["folder"] = str(row.bug.folder)
    return {"name": row.bug.name, **bug, **data, "outcome": row.outcome.value}


def _print(rows: list[Checked]) -> None:
    """Print a row for each bug, then how many showed what was recorded."""
    from collections import Counter

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else LOG_WIDTH)
    table = Table("bug", "status", "on", "recorded", "now", "same?", box=None, pad_edge=False)
    for row in rows:
        bug = Text(row.bug.name)
        if row.note:
            bug.append(f"\n  {row.note}", style="dim")
        here = f"{row.bug.framework} {row.version}".strip()
        recorded = f"{row.recorded} ({row.recorded_on})"
        same = Text(row.outcome.value, style=STYLES[row.outcome.value])
        table.add_row(bug, row.bug.status, here, recorded, row.now, same)
    console.print(table)
    counts = Counter(row.outcome.value for row in rows)
    click.echo(
        f"{counts.pop('yes', 0)} of {len(rows)} as recorded"
        + "".join(f", {count} {told}" for told, count in sorted(counts.items()))
    )
