"""keras_epsilon: Keras's global fuzz factor, read while tracing."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import SETTING
from rondo.subjects.target import Construct


class KerasEpsilon(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def __call__(self, hidden: Any) -> Any:
        return hidden / (tf.abs(hidden) + 1.0 + keras.config.epsilon())


CONSTRUCT = Construct("keras_epsilon", KerasEpsilon, kind=SETTING)


@CONSTRUCT.change(values=2)
def set_epsilon(module: KerasEpsilon, value: int) -> None:
    """Set the global epsilon to 0.5 or back to 1e-7."""
    keras.config.set_epsilon((0.5, 1e-7)[value])
