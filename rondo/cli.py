"""The command `rondo`.

The key insight: help must be instant, so this file imports click and nothing else; the commands, a
file each in `rondo/commands/`, import what they need when they run. Every error that is the user's
to mend is one line and an exit code, here and nowhere else.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import click

from rondo import __version__
from rondo.commands import command_files, load_command
from rondo.errors import EXIT_BAD_INPUT, EXIT_OK, RondoError


class _Group(click.Group):
    """Finds commands by their files; turns Rondo's errors into one line, whoever raises them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, for the help."""
        return list(command_files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        return load_command(cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RondoError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(error.exit_code)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run, but tell a wrong command line in one line too.

        A name that the terminal's encoding has no characters for - a path need not be UTF-8 - is
        printed with escapes, on standard output as Python does it on standard error.
        """
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            told = error.format_message()
            is_help = told.startswith("Usage:")
            click.echo(told if is_help else f"error: {' '.join(told.split())}", err=True)
            code = EXIT_BAD_INPUT
        except click.Abort:
            click.echo("error: interrupted", err=True)
            code = 130
        sys.exit(code or EXIT_OK)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rondo")
def main() -> None:
    """Rondo: a stateful fuzzer for deep learning compilers.

    It runs one program several times while the program and the compiler change under it, and
    compares what the compiler kept with what it would say afresh.
    """
