"""sublayer: an inner layer put in place of another, and its own training flag."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class Scaled(paddle.nn.Layer):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, hidden: Any) -> Any:
        return hidden * self.factor if self.training else hidden * 0.5


class Sublayer(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.inner: Any = Scaled(1.0)

    def forward(self, hidden: Any) -> Any:
        return self.inner(hidden)


CONSTRUCT = Construct("sublayer", Sublayer, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=2)
def replace(module: Sublayer, value: int) -> None:
    """Put another layer of the same class in its place."""
    module.inner = Scaled((3.0, 1.0)[value])


@CONSTRUCT.change()
def replace_by_builtin(module: Sublayer, value: int) -> None:
    """Put a layer of Paddle's own in its place."""
    module.inner = paddle.nn.Sigmoid()


@CONSTRUCT.change(values=2)
def set_training(module: Sublayer, value: int) -> None:
    """Put the inner layer alone in evaluation (0) or training (1)."""
    module.inner.training = value == 1
