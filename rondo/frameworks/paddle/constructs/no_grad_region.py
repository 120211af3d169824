"""no_grad_region: a region without gradients, chosen by an attribute."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class NoGradRegion(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.recorded = True

    def forward(self, hidden: Any) -> Any:
        if self.recorded:
            return hidden + paddle.tanh(hidden)
        with paddle.no_grad():
            inner = paddle.tanh(hidden)
        return hidden + inner


CONSTRUCT = Construct("no_grad_region", NoGradRegion, kind=ATTRIBUTE)


@CONSTRUCT.change(values=2)
def set_recorded(module: NoGradRegion, value: int) -> None:
    """Record the region (1) or not (0)."""
    module.recorded = bool(value)
