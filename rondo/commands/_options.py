"""Options that several commands share: one wording each."""

from __future__ import annotations

from pathlib import Path

import click

FRAMEWORK = click.option(
    "--framework", default="torch", show_default=True, help="Whose compiler it is about."
)
PRELOAD = click.option(
    "--preload",
    "preloads",
    multiple=True,
    metavar="FILE.py",
    help="Python to run first; may be given several times.",
)
SUBJECT = click.option("--subject", default="", help="Your own model, as package.module:factory.")
KNOWN_FILE = click.option(
    "--file",
    "known_file",
    type=click.Path(path_type=Path),
    help="The list of known buckets.  [known.json in the folder of findings]",
)
