"""default_dtype: tensors made without naming a dtype."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import SETTING
from rondo.subjects.target import Construct


class DefaultDtype(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any) -> Any:
        made = paddle.full([1], 0.1) + paddle.ones([1]) / 3.0
        return hidden + paddle.cast(made, hidden.dtype), made


CONSTRUCT = Construct("default_dtype", DefaultDtype, kind=SETTING)


@CONSTRUCT.change(values=2)
def set_dtype(module: DefaultDtype, value: int) -> None:
    """Set the default dtype: float64 (0) or float32 (1)."""
    paddle.set_default_dtype(("float64", "float32")[value])
