"""The commands of `rondo`: a file each, which defines `command`.

The key insight: a command is added by adding a file. These files import click alone at the top, so
that help stays instant, and what they need when they run.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

import click


def command_files() -> dict[str, str]:
    """Return the module of every command by its name.

    A file named after a keyword or a builtin ends with an underscore, which its command does not.
    """
    files = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name.rstrip("_"): name for name in files if not name.startswith("_")}


def load_command(name: str) -> click.Command | None:
    """Return the command `name`, or None when there is none."""
    file = command_files().get(name)
    if file is None:
        return None
    command: click.Command = import_module(f"{__name__}.{file}").command
    return command
