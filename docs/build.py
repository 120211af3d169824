#!/usr/bin/env python3
"""Builds the documentation: docs/build.py, into site/; docs/build.py --write renews cli.md first.

The key insight: a reference that people write is wrong by the next week, so the page of commands is
printed by the commands themselves, and building fails where the page says something else than they
do. Warnings are errors: a link that leads nowhere is one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
CLI = HERE / "cli.md"
WIDTH = 88

INTRODUCTION = """\
# Commands

What each command says of itself (`docs/build.py --write` writes this page). Errors are one line on
standard error with exit code 2, whatever the command.
"""


def cli_page() -> str:
    """Return the page: every command of `rondo` with its help, then the flags of campaigns."""
    from rondo.campaign.flags import help_text
    from rondo.cli import main
    from rondo.libfuzzer.flags import HELP

    parts = [INTRODUCTION]
    context = click.Context(
        main,
        info_name="rondo",
        max_content_width=WIDTH,
        terminal_width=WIDTH,
        **main.context_settings,
    )
    for path, command, inner in commands(main, context):
        parts.append(f"## {path}\n\n```text\n{command.get_help(inner).rstrip()}\n```\n")
    parts.append(f"## python -m rondo.fuzz, rondo fuzz\n\n```text\n{help_text().rstrip()}\n```\n")
    parts.append(f"## Fuzz targets\n\n```text\n{HELP.rstrip()}\n```\n")
    return "\n".join(parts)


def commands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield every command below `group` that has a help of its own, groups before their members."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden or not command.add_help_option:
            continue
        inner = click.Context(
            command,
            info_name=name,
            parent=context,
            max_content_width=WIDTH,
            terminal_width=WIDTH,
        )
        yield inner.command_path, command, inner
        if isinstance(command, click.Group):
            yield from commands(command, inner)


def main() -> int:
    """Renew or check the page of commands, then build the site. Return an exit code."""
    parser = argparse.ArgumentParser(description="Build the documentation into site/.")
    parser.add_argument("--write", action="store_true", help="renew docs/cli.md first")
    options = parser.parse_args()
    page = cli_page()
    if options.write:
        CLI.write_text(page)
    elif CLI.read_text() != page:
        print(
            "docs/cli.md is not what the commands say; run docs/build.py --write", file=sys.stderr
        )
        return 1
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # an advertisement, and no warning
    return subprocess.run(command, cwd=HERE.parent, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
