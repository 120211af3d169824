"""composite_argument: an extension type with a tensor and a Python field, passed as an argument."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import ARGUMENT
from rondo.subjects.target import Construct


class Scaled(tf.experimental.ExtensionType):
    values: tf.Tensor
    power: int
    label: str = "plain"


class CompositeArgument(tf.Module):
    passed = ("scaled",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.scaled: Any = None
        replace_field(self, 3)

    def __call__(self, hidden: Any, scaled: Any) -> Any:
        for _ in range(scaled.power):
            hidden = hidden * tf.cast(tf.reduce_sum(scaled.values), hidden.dtype)
        return hidden + (1.0 if scaled.label == "plain" else 2.0), scaled.values


CONSTRUCT = Construct("composite_argument", CompositeArgument, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=4)
def replace_field(module: CompositeArgument, value: int) -> None:
    """Pass other values, another power, another label, or what was passed first."""
    module.scaled = Scaled(
        values=tf.constant((2.0, 0.5, 0.5, 0.5)[value]),
        power=(1, 2, 1, 1)[value],
        label=("plain", "plain", "other", "plain")[value],
    )


@CONSTRUCT.change(values=2)
def resize(module: CompositeArgument, value: int) -> None:
    """Pass values of another length (0) or of another dtype (1)."""
    values = tf.constant([0.25, 0.5]) if value == 0 else tf.constant(0.5, tf.float64)
    module.scaled = Scaled(values=values, power=1)
