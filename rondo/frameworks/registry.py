"""Finds adapters by their folders and loads one by name; until then no framework is imported.

The folder is the register: `rondo/frameworks/NAME/adapter.py` defines the one subclass of
`Framework` for the package NAME, and `rondo/frameworks/NAME/__init__.py` may say in `REQUIREMENT`
what to install.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from pathlib import Path

from rondo.errors import MissingFrameworkError, UnknownFrameworkError
from rondo.frameworks.base import Framework

HERE = Path(__file__).parent


ADAPTERS = {path.parent.name: path.parent for path in sorted(HERE.glob("*/adapter.py"))}
"""Name -> folder of every adapter that Rondo has."""


def is_installed(name: str) -> bool:
    """Whether the package of framework `name` can be imported.

    A mere folder of that name on the path would import as an empty namespace package: it has no
    loader, or no file of its own.
    """
    found = importlib.util.find_spec(name)
    return found is not None and found.origin is not None


def requirement(name: str) -> str:
    """Return what to install for framework `name`: pip's words."""
    package = importlib.import_module(f"rondo.frameworks.{name}")
    return str(getattr(package, "REQUIREMENT", name))


@cache
def load_framework(name: str) -> Framework:
    """Return the adapter called `name`.

    Raises UnknownFrameworkError when Rondo has none, MissingFrameworkError when its package is
    not installed.
    """
    if name not in ADAPTERS:
        raise UnknownFrameworkError(name, sorted(ADAPTERS))
    if not is_installed(name):
        raise MissingFrameworkError(name, requirement(name))
    module = importlib.import_module(f"rondo.frameworks.{name}.adapter")
    adapters = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Framework)
        and value.__module__ == module.__name__
    ]
    (adapter,) = adapters
    return adapter()
