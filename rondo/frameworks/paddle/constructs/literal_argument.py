"""literal_argument: Python numbers passed as an argument that compare equal and differ in type."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ARGUMENT
from rondo.subjects.target import Construct


class LiteralArgument(paddle.nn.Layer):
    passed = ("literal",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.literal: Any = 1

    def forward(self, hidden: Any, literal: Any) -> Any:
        if isinstance(literal, bool):
            return -hidden
        if isinstance(literal, float):
            return hidden * literal + 0.5
        return hidden * literal


CONSTRUCT = Construct("literal_argument", LiteralArgument, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=6)
def set_literal(module: LiteralArgument, value: int) -> None:
    """Pass 1, True, 1.0, 0, False or 2 from now on."""
    module.literal = (1, True, 1.0, 0, False, 2)[value]
