"""The toy compiler, its own module being the compiler whose lines are traced."""

from __future__ import annotations

from pathlib import Path

import tests
from tests.toy_framework import ToyFramework


class TracedToy(ToyFramework):
    def source_trees(self) -> tuple[str, ...]:
        return (str(Path(tests.__file__).parent),)
