"""python_random: draws from Python's and numpy's generators, which a trace bakes in."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import SIDE_EFFECT
from rondo.subjects.target import Construct


class PythonRandom(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.source = random.Random(1)

    def __call__(self, hidden: Any) -> Any:
        return hidden + self.source.random() + random.random() + np.random.random()


CONSTRUCT = Construct("python_random", PythonRandom, kind=SIDE_EFFECT)


@CONSTRUCT.change(values=2)
def reseed(module: PythonRandom, value: int) -> None:
    """Seed the module's own source and both global ones."""
    module.source.seed(value)
    random.seed(value)
    np.random.seed(value)
