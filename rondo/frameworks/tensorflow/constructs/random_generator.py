"""random_generator: a `tf.random.Generator`, seeded anew or replaced."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import RANDOM
from rondo.subjects.target import Construct


class RandomGenerator(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.generator = tf.random.Generator.from_seed(1)

    def __call__(self, hidden: Any) -> Any:
        bits = self.generator.uniform_full_int([], tf.uint32)
        return hidden + tf.cast(bits % 64, hidden.dtype)


CONSTRUCT = Construct("random_generator", RandomGenerator, kind=RANDOM)


@CONSTRUCT.change(values=2)
def reseed(module: RandomGenerator, value: int) -> None:
    """Seed the generator anew, in place."""
    module.generator.reset_from_seed(value + 1)


@CONSTRUCT.change(values=2)
def replace_generator(module: RandomGenerator, value: int) -> None:
    """Put another generator in its place."""
    module.generator = tf.random.Generator.from_seed(value + 5)
