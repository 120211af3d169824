"""Loads a framework's adapter by name; until then nothing of the framework is imported."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache

from rondo.errors import MissingFrameworkError, UnknownFrameworkError
from rondo.frameworks.base import Framework

ADAPTERS = {"torch": ("rondo.frameworks.torch.adapter", "TorchFramework", "torch>=2.11")}
"""Name -> (module, class, what to install)."""


@cache
def load_framework(name: str) -> Framework:
    """Return the adapter called `name`.

    Raises UnknownFrameworkError when Rondo has none, MissingFrameworkError when its package is
    not installed.
    """
    try:
        module, attribute, requirement = ADAPTERS[name]
    except KeyError:
        raise UnknownFrameworkError(name, sorted(ADAPTERS)) from None
    if importlib.util.find_spec(name) is None:
        raise MissingFrameworkError(name, requirement)
    adapter: Framework = getattr(importlib.import_module(module), attribute)()
    return adapter
