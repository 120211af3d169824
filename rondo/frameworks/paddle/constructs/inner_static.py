"""inner_static: a method that is compiled itself, with what it reads."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import NESTED
from rondo.subjects.target import Construct


class Inner(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.shift = 1.0

    def forward(self, hidden: Any) -> Any:
        return paddle.tanh(hidden) + self.shift


class InnerStatic(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0
        self.inner = paddle.jit.to_static(Inner(), full_graph=True)

    def forward(self, hidden: Any) -> Any:
        return self.inner(hidden) * self.factor


CONSTRUCT = Construct("inner_static", InnerStatic, kind=NESTED)


@CONSTRUCT.change(values=2)
def set_factor(module: InnerStatic, value: int) -> None:
    """Give the outer factor another value."""
    module.factor = (2.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def set_inner(module: InnerStatic, value: int) -> None:
    """Give the inner layer another attribute."""
    module.inner.shift = (3.0, 1.0)[value]
