"""Loading a framework's adapter: one of Rondo's by its name, or any by `module:Class`."""

from __future__ import annotations

import importlib

from rondo.errors import UnknownFrameworkError
from rondo.frameworks.base import Framework
from rondo.frameworks.registry import ADAPTERS, load_framework
from rondo.sequences.vocabulary import Vocabulary
from rondo.subjects.user import load_subject


def load(name: str) -> Framework:
    """Return the adapter that `name` names. Raises UnknownFrameworkError or MissingFrameworkError.

    The second form is for adapters that live outside Rondo; the module must be importable.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        return load_framework(name)
    try:
        adapter = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        adapter = None
    if not (isinstance(adapter, type) and issubclass(adapter, Framework)):
        raise UnknownFrameworkError(name, sorted(ADAPTERS))
    return adapter()


def load_vocabulary(name: str, subject: str = "") -> Vocabulary:
    """Return what the sequences of an adapter are made of, your own model `subject` included.

    Raises RondoError where one of both cannot be loaded.
    """
    framework = load(name)
    if subject:
        framework.add_subject(load_subject(subject))
    return framework.vocabulary()
