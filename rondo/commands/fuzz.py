"""`rondo fuzz`."""

from __future__ import annotations

import click


@click.command(
    "fuzz",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Search for bugs. The same as python -m rondo.fuzz; -help=1 lists its flags."""
    from rondo.fuzz import main as run

    return run(list(arguments))
