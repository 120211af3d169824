"""keras_batch_norm: batch norm, whose mode and rates are Python attributes and `trainable`."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.constructs._keras import built, policy
from rondo.frameworks.tensorflow.kinds import CAPTURED
from rondo.frameworks.tensorflow.layers import local
from rondo.subjects.target import Construct


class KerasBatchNorm(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = built(keras.layers.BatchNormalization(momentum=0.9, dtype=policy()), features)

    def __call__(self, hidden: Any) -> Any:
        flat = tf.reshape(hidden, [-1, hidden.shape[-1]])
        normed = self.norm(flat, training=local.training)
        return tf.reshape(tf.cast(normed, hidden.dtype), tf.shape(hidden))


CONSTRUCT = Construct("keras_batch_norm", KerasBatchNorm, kind=CAPTURED)


@CONSTRUCT.change(values=2)
def set_trainable(module: KerasBatchNorm, value: int) -> None:
    """Freeze the layer, so that it uses its moving statistics (0), or unfreeze it (1)."""
    module.norm.trainable = bool(value)


@CONSTRUCT.change(values=2)
def set_momentum(module: KerasBatchNorm, value: int) -> None:
    """Give the moving statistics another momentum."""
    module.norm.momentum = (0.5, 0.9)[value]


@CONSTRUCT.change(values=2)
def set_epsilon(module: KerasBatchNorm, value: int) -> None:
    """Give the layer another epsilon."""
    module.norm.epsilon = (0.5, 1e-3)[value]


@CONSTRUCT.change()
def reset_statistics(module: KerasBatchNorm, value: int) -> None:
    """Assign the moving statistics their first values."""
    module.norm.moving_mean.assign(tf.zeros_like(module.norm.moving_mean))
    module.norm.moving_variance.assign(tf.ones_like(module.norm.moving_variance))
