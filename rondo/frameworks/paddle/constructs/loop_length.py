"""loop_length: a Python loop whose length is an attribute."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class LoopLength(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.rounds = 2

    def forward(self, hidden: Any) -> Any:
        for _ in range(self.rounds):
            hidden = paddle.tanh(hidden) + 0.1
        return hidden * 2.0


CONSTRUCT = Construct("loop_length", LoopLength, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=3)
def set_rounds(module: LoopLength, value: int) -> None:
    """Run another number of rounds."""
    module.rounds = (0, 3, 2)[value]
