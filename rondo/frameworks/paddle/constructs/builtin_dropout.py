"""builtin_dropout: Paddle's dropout: its rate, its mode, and its own training flag."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import BUILTIN
from rondo.subjects.target import Construct


class BuiltinDropout(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.dropout = paddle.nn.Dropout(0.5)

    def forward(self, hidden: Any) -> Any:
        return self.dropout(hidden)


CONSTRUCT = Construct("builtin_dropout", BuiltinDropout, kind=BUILTIN)


@CONSTRUCT.change(values=3)
def set_rate(module: BuiltinDropout, value: int) -> None:
    """Give it another rate."""
    module.dropout.p = (0.0, 0.9, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_mode(module: BuiltinDropout, value: int) -> None:
    """Scale in evaluation (0), or in training (1)."""
    module.dropout.mode = ("downscale_in_infer", "upscale_in_train")[value]


@CONSTRUCT.change(values=2)
def set_training(module: BuiltinDropout, value: int) -> None:
    """Put this layer alone in evaluation (0) or training (1)."""
    module.dropout.eval() if value == 0 else module.dropout.train()
