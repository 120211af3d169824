"""random_draw: draws of Paddle's generator, with their parameters in attributes."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class RandomDraw(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.low = 0.0
        self.rate = 0.5

    def forward(self, hidden: Any) -> Any:
        noise = paddle.uniform(hidden.shape, "float32", self.low, 1.0)
        kept = paddle.nn.functional.dropout(hidden, self.rate, training=self.training)
        return kept + paddle.cast(noise, hidden.dtype)


CONSTRUCT = Construct("random_draw", RandomDraw, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=2)
def set_low(module: RandomDraw, value: int) -> None:
    """Draw from another interval."""
    module.low = (-1.0, 0.0)[value]


@CONSTRUCT.change(values=2)
def set_rate(module: RandomDraw, value: int) -> None:
    """Drop at another rate."""
    module.rate = (0.25, 0.5)[value]
