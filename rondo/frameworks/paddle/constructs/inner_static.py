"""inner_static: a function inside that is compiled itself, with the global that it reads."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import NAME
from rondo.subjects.target import Construct

SHIFT = 1.0


def shifted(hidden: Any) -> Any:
    """Shift by the global."""
    return paddle.tanh(hidden) + SHIFT


class InnerStatic(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0
        self.inner = paddle.jit.to_static(shifted, full_graph=False, backend=None)

    def forward(self, hidden: Any) -> Any:
        return self.inner(hidden) * self.factor


CONSTRUCT = Construct("inner_static", InnerStatic, kind=NAME)


@CONSTRUCT.change(values=2)
def set_factor(module: InnerStatic, value: int) -> None:
    """Give the outer factor another value."""
    module.factor = (2.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def set_global(module: InnerStatic, value: int) -> None:
    """Rebind what the inner function reads."""
    globals()["SHIFT"] = (3.0, 1.0)[value]
