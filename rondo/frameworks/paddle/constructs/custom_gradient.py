"""custom_gradient: a gradient of one's own (`PyLayer`) that reads a global."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import NAME
from rondo.subjects.target import Construct

FACTOR = 1.0


class Scaled(paddle.autograd.PyLayer):
    """Doubles, with a gradient that a global scales."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2.0 * FACTOR


class CustomGradient(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any) -> Any:
        return Scaled.apply(hidden)


CONSTRUCT = Construct("custom_gradient", CustomGradient, kind=NAME, guarded=True)


@CONSTRUCT.change(values=2)
def set_factor(module: CustomGradient, value: int) -> None:
    """Rebind what the backward reads."""
    globals()["FACTOR"] = (3.0, 1.0)[value]
