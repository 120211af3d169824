"""builtin_linear: a linear layer of Paddle's own: its parameters replaced, frozen and written."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.constructs._builtin import filled, fresh
from rondo.frameworks.paddle.kinds import BUILTIN
from rondo.subjects.target import Construct


class BuiltinLinear(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = filled(paddle.nn.Linear(features, features))

    def forward(self, hidden: Any) -> Any:
        return paddle.cast(self.linear(paddle.cast(hidden, self.linear.weight.dtype)), hidden.dtype)


CONSTRUCT = Construct("builtin_linear", BuiltinLinear, kind=BUILTIN)


@CONSTRUCT.change(values=2)
def replace_weight(module: BuiltinLinear, value: int) -> None:
    """Put another parameter in place of the weight."""
    module.linear.weight = fresh(module.linear.weight, (0.5, 2.0)[value])


@CONSTRUCT.change(values=2)
def freeze(module: BuiltinLinear, value: int) -> None:
    """Freeze the weight (0), or thaw it (1)."""
    module.linear.weight.stop_gradient = value == 0


@CONSTRUCT.change()
def scale_in_place(module: BuiltinLinear, value: int) -> None:
    """Halve the weight in place."""
    with paddle.no_grad():
        paddle.assign(module.linear.weight * 0.5, module.linear.weight)


@CONSTRUCT.change()
def drop_bias(module: BuiltinLinear, value: int) -> None:
    """Set the bias to None."""
    module.linear.bias = None
