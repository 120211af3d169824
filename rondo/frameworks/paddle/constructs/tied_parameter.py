"""tied_parameter: one parameter under two names, tied and untied."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.constructs._builtin import fresh
from rondo.frameworks.paddle.kinds import PARAMETER
from rondo.frameworks.paddle.layers import parameter
from rondo.subjects.target import Construct


class TiedParameter(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.other = self.weight

    def forward(self, hidden: Any) -> Any:
        value = paddle.tanh(paddle.cast(hidden, self.weight.dtype) * self.weight) * self.other
        return paddle.cast(value, hidden.dtype)


CONSTRUCT = Construct("tied_parameter", TiedParameter, kind=PARAMETER, guarded=True)


@CONSTRUCT.change(values=2)
def untie(module: TiedParameter, value: int) -> None:
    """Give the second name a parameter of its own."""
    module.other = fresh(module.weight, (0.5, 1.0)[value])


@CONSTRUCT.change()
def tie(module: TiedParameter, value: int) -> None:
    """Make both names one parameter."""
    module.other = module.weight
