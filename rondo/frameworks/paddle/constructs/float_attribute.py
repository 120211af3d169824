"""float_attribute: a Python float on the layer, used as a factor."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class FloatAttribute(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0

    def forward(self, hidden: Any) -> Any:
        return hidden * self.factor


CONSTRUCT = Construct("float_attribute", FloatAttribute, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=3)
def set_factor(module: FloatAttribute, value: int) -> None:
    """Give the factor another value."""
    module.factor = (0.5, 2.0, 1.0)[value]
