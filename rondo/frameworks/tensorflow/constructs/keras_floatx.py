"""keras_floatx: Keras's default float, read where a dtype is left out."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import SETTING
from rondo.subjects.target import Construct


class KerasFloatx(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def __call__(self, hidden: Any) -> Any:
        ones = keras.ops.ones((self.features,))
        return hidden + tf.cast(ones, hidden.dtype), ones


CONSTRUCT = Construct("keras_floatx", KerasFloatx, kind=SETTING)


@CONSTRUCT.change(values=2)
def set_floatx(module: KerasFloatx, value: int) -> None:
    """Set Keras's default float to float64 (0) or back to float32 (1)."""
    keras.config.set_floatx(("float64", "float32")[value])
