"""Options that several commands share: one wording each."""

from __future__ import annotations

from pathlib import Path

import click


def _known_framework(_context: click.Context, _option: click.Parameter, name: str) -> str:
    """Return the name, of Rondo's adapters or MODULE:NAME. Raises UnknownFrameworkError."""
    if name != "torch" and ":" not in name:
        from rondo.errors import UnknownFrameworkError
        from rondo.frameworks.registry import ADAPTERS

        if name not in ADAPTERS:
            raise UnknownFrameworkError(name, sorted(ADAPTERS))
    return name


FRAMEWORK = click.option(
    "--framework",
    default="torch",
    show_default=True,
    callback=_known_framework,
    help="Whose compiler it is about, unless a reproducer says so.",
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
