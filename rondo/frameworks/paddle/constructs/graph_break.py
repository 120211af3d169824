"""graph_break: a number taken out of a tensor, which capture must leave to Python."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class GraphBreak(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0

    def forward(self, hidden: Any) -> Any:
        hidden = paddle.tanh(hidden)
        value = paddle.mean(paddle.cast(hidden, "float32")).item()
        return hidden * self.factor + (0.25 if value > 0.0 else 0.5)


CONSTRUCT = Construct("graph_break", GraphBreak, kind=ATTRIBUTE)


@CONSTRUCT.change(values=2)
def set_factor(module: GraphBreak, value: int) -> None:
    """Give what comes after the break another factor."""
    module.factor = (2.0, 1.0)[value]
