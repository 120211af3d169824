"""`rondo bisect`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import click

from rondo.commands._options import DEVICE, FINDING, FRAMEWORK, PRELOAD, SUBJECT, timeout_option
from rondo.errors import EXIT_BAD_INPUT, EXIT_BUG, EXIT_OK

LOG_WIDTH = 160
SHOWS = {True: "shows", False: "does not show", None: "?"}
STYLES = {True: "bold red", False: "green", None: "yellow"}


@click.command("bisect")
@FINDING
@click.option(
    "--python",
    "interpreters",
    multiple=True,
    required=True,
    metavar="PYTHON",
    help="An interpreter whose environment to ask; give several.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@timeout_option("Seconds each may take.")
@FRAMEWORK
@PRELOAD
@SUBJECT
@DEVICE
def command(
    file: Path,
    interpreters: tuple[str, ...],
    as_json: bool,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
    device: str,
) -> int:
    """Replay a reproducer under several interpreters: where does its bug show?

    Give the interpreters of environments with other versions of the framework, oldest first. Rondo
    need not be installed in them, but what it depends on must be, and its native extension must be
    built for their Python.

    Exit code 1: it shows somewhere. 0: nowhere. 2: an interpreter could not tell.
    """
    from rondo.campaign.interpreters import ask_all
    from rondo.campaign.preload import check_preloads
    from rondo.campaign.workbench import framework_of
    from rondo.findings.replay import read

    check_preloads(preloads)
    name = framework_of(read(file, framework=framework), framework)
    options = ["--framework", framework]
    for path in preloads:
        options += ["--preload", str(Path(path).resolve())]
    if subject:
        options += ["--subject", subject]
    if device:
        options += ["--device", device]
    # Absolute, and not resolved: what makes it the interpreter of an environment is where it lies.
    found = [os.path.abspath(at) if (at := shutil.which(each)) else each for each in interpreters]
    answers = list(ask_all(file, tuple(found), name, tuple(options), seconds=timeout))
    if as_json:
        json.dump({"file": str(file), "answers": [asdict(each) for each in answers]}, sys.stdout)
        click.echo()
    else:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(highlight=False, width=None if sys.stdout.isatty() else LOG_WIDTH)
        table = Table("interpreter", "python", name, "bug", "", box=None, pad_edge=False)
        for each in answers:
            bug = Text(SHOWS[each.shows], style=STYLES[each.shows])
            row = (each.interpreter, each.python, each.framework, bug, Text(each.told))
            table.add_row(*row)
        console.print(table)
    if any(each.shows is None for each in answers):
        return EXIT_BAD_INPUT
    return EXIT_BUG if any(each.shows for each in answers) else EXIT_OK
