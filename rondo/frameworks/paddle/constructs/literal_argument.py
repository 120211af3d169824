"""literal_argument: Python numbers passed as an argument that are easily taken for one another.

1, True and 1.0 are equal and differ in type; -1 and -2 differ and have one hash in CPython.
"""

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


@CONSTRUCT.change(values=8)
def set_literal(module: LiteralArgument, value: int) -> None:
    """Pass 1, True, 1.0, 0, False, 2, -1 or -2 from now on."""
    module.literal = (1, True, 1.0, 0, False, 2, -1, -2)[value]
