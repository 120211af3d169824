"""python_random: numbers of Python's and numpy's generators, drawn while the forward is traced."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from rondo.frameworks.jax.kinds import SIDE_EFFECT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class PythonRandom(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.source = "python"

    def forward(self, hidden: Any) -> Any:
        drawn = random.random() if self.source == "python" else float(np.random.rand())
        return hidden + drawn


CONSTRUCT = Construct("python_random", PythonRandom, kind=SIDE_EFFECT)


@CONSTRUCT.change(values=2)
def set_source(module: PythonRandom, value: int) -> None:
    """Draw from numpy, or from Python."""
    module.source = ("numpy", "python")[value]
