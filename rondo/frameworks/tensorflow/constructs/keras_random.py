"""keras_random: Keras's global generator, which seeding replaces."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import RANDOM
from rondo.subjects.target import Construct


class KerasRandom(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def __call__(self, hidden: Any) -> Any:
        return hidden + tf.cast(keras.random.randint((), 0, 64), hidden.dtype)


CONSTRUCT = Construct("keras_random", KerasRandom, kind=RANDOM)


@CONSTRUCT.change(values=3)
def set_seed(module: KerasRandom, value: int) -> None:
    """Call `keras.utils.set_random_seed`, and draw once, which makes the new generator."""
    keras.utils.set_random_seed(value)
    keras.random.randint((), 0, 2)


@CONSTRUCT.change()
def clear_session(module: KerasRandom, value: int) -> None:
    """Have Keras forget its global generator, and draw once, which makes another one."""
    keras.backend.clear_session(free_memory=False)
    keras.random.randint((), 0, 2)
