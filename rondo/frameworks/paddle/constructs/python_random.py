"""python_random: draws from Python's and numpy's generators."""

from __future__ import annotations

import random
from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import SIDE_EFFECT
from rondo.subjects.target import Construct


class PythonRandom(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.source = random.Random(1)

    def forward(self, hidden: Any) -> Any:
        return hidden + self.source.random() + random.random()


CONSTRUCT = Construct("python_random", PythonRandom, kind=SIDE_EFFECT, guarded=True)


@CONSTRUCT.change(values=2)
def reseed(module: PythonRandom, value: int) -> None:
    """Seed both generators."""
    module.source.seed(value)
    random.seed(value)
