"""builtin_activation: activations of Paddle's own, whose slope and threshold are attributes."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import BUILTIN
from rondo.subjects.target import Construct


class BuiltinActivation(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.leaky = paddle.nn.LeakyReLU(0.5)
        self.clipped = paddle.nn.Hardtanh(-1.5, 1.5)

    def forward(self, hidden: Any) -> Any:
        return self.clipped(self.leaky(hidden))


CONSTRUCT = Construct("builtin_activation", BuiltinActivation, kind=BUILTIN)


@CONSTRUCT.change(values=2)
def set_slope(module: BuiltinActivation, value: int) -> None:
    """Give the leaky activation another slope."""
    module.leaky._negative_slope = (0.75, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_bounds(module: BuiltinActivation, value: int) -> None:
    """Give the clipped activation other bounds."""
    module.clipped._max = (0.25, 1.5)[value]
