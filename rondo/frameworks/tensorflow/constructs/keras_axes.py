"""keras_axes: Keras's global order of image axes, read where a layer's own is left out."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import SETTING
from rondo.subjects.target import Construct


class KerasAxes(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def __call__(self, hidden: Any) -> Any:
        image = tf.reshape(tf.cast(hidden, tf.float32), [-1, 1, hidden.shape[-1], 1])
        pooled = keras.ops.average_pool(image, (1, 2), padding="same")
        return hidden, pooled


CONSTRUCT = Construct("keras_axes", KerasAxes, kind=SETTING)


@CONSTRUCT.change(values=2)
def set_order(module: KerasAxes, value: int) -> None:
    """Set the global order to channels first (0) or last (1)."""
    keras.config.set_image_data_format(("channels_first", "channels_last")[value])
