"""literal_attribute: a Python number under a name: of equal value, and of another type."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class LiteralAttribute(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.literal: Any = 1

    def forward(self, hidden: Any) -> Any:
        if isinstance(self.literal, bool):
            return -hidden
        if isinstance(self.literal, float):
            return hidden * self.literal + 0.5
        return hidden * self.literal


CONSTRUCT = Construct("literal_attribute", LiteralAttribute, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=6)
def set_literal(module: LiteralAttribute, value: int) -> None:
    """Keep 1, True, 1.0, 0, False or 2 from now on."""
    module.literal = (1, True, 1.0, 0, False, 2)[value]
