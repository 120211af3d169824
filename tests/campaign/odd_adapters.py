"""Adapters that do not load as they should."""

from __future__ import annotations

import time

from tests.toy_framework import ToyFramework


class BrokenFramework(ToyFramework):
    """Its import fails in a way that nobody foresaw."""

    def warm(self) -> None:
        raise AssertionError("broken adapter")


class SlowFramework(ToyFramework):
    """Its import takes longer than anybody waits."""

    def warm(self) -> None:
        time.sleep(600)
