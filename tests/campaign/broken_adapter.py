"""An adapter whose import of the framework fails in a way that nobody foresaw."""

from __future__ import annotations

from tests.toy_framework import ToyFramework


class BrokenFramework(ToyFramework):
    def warm(self) -> None:
        raise AssertionError("broken adapter")
