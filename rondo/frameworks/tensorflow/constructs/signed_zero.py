"""signed_zero: a float argument that is 0.0 or -0.0, which compare equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import ARGUMENT
from rondo.subjects.target import Construct


class SignedZero(tf.Module):
    passed = ("height",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.height = 0.0

    def __call__(self, hidden: Any, height: Any) -> Any:
        # Through numpy: eager TensorFlow keeps constants too, in a table where -0.0 is 0.0.
        return hidden, tf.math.atan2(tf.constant(np.array([height], np.float32)), -1.0)


CONSTRUCT = Construct("signed_zero", SignedZero, kind=ARGUMENT)


@CONSTRUCT.change(values=3)
def set_height(module: SignedZero, value: int) -> None:
    """Pass -0.0, 1.0 or 0.0 from now on."""
    module.height = (-0.0, 1.0, 0.0)[value]
