"""dtype_attribute: a dtype and the name of one, kept under names."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class DtypeAttribute(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.wide: Any = "float32"
        self.narrow: Any = paddle.float32

    def forward(self, hidden: Any) -> Any:
        value = paddle.cast(paddle.cast(hidden, self.narrow), self.wide)
        return hidden + paddle.cast(value / 3.0, hidden.dtype)


CONSTRUCT = Construct("dtype_attribute", DtypeAttribute, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=2)
def set_name(module: DtypeAttribute, value: int) -> None:
    """Keep another name of a dtype."""
    module.wide = ("float64", "float32")[value]


@CONSTRUCT.change(values=2)
def set_dtype(module: DtypeAttribute, value: int) -> None:
    """Keep another dtype."""
    module.narrow = (paddle.bfloat16, paddle.float32)[value]
