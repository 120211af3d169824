"""printed: a graph break: a call of the user's own that capture must leave to Python."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import CONTROL_FLOW
from rondo.subjects.target import Construct


class Printed(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0
        self.texts: list[str] = []

    def forward(self, hidden: Any) -> Any:
        hidden = paddle.tanh(hidden)
        self.texts.append(f"{hidden.dtype}")
        value = float(paddle.mean(paddle.cast(hidden, "float32")))
        return hidden * self.factor + (0.25 if value > 0.0 else 0.5)


CONSTRUCT = Construct("printed", Printed, kind=CONTROL_FLOW)


@CONSTRUCT.change(values=2)
def set_factor(module: Printed, value: int) -> None:
    """Give what comes after the break another factor."""
    module.factor = (2.0, 1.0)[value]


@CONSTRUCT.observe
def state(module: Printed) -> dict[str, object]:
    """Report what the forward wrote."""
    return {"texts": list(module.texts)}
