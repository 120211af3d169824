"""float_attribute: a Python float on the module, used as a factor."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import CAPTURED
from rondo.subjects.target import Construct


class FloatAttribute(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0

    def __call__(self, hidden: Any) -> Any:
        return hidden * self.factor


CONSTRUCT = Construct("float_attribute", FloatAttribute, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def set_factor(module: FloatAttribute, value: int) -> None:
    """Give the factor another value."""
    module.factor = (0.5, 2.0, 1.0)[value]
