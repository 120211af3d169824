"""global_value: globals: a number, a function, a list, read by name."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import NAME
from rondo.subjects.target import Construct


def plain(hidden: Any) -> Any:
    """Return the input."""
    return hidden * 1.0


GAIN = 1.0
ENTRY = plain
LEVELS = [0.0]


class GlobalValue(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any) -> Any:
        return ENTRY(hidden) * GAIN + LEVELS[0]


CONSTRUCT = Construct("global_value", GlobalValue, kind=NAME, guarded=True)


@CONSTRUCT.change(values=2)
def set_number(module: GlobalValue, value: int) -> None:
    """Rebind the number."""
    globals()["GAIN"] = (2.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def set_function(module: GlobalValue, value: int) -> None:
    """Rebind the function."""
    globals()["ENTRY"] = (paddle.tanh, plain)[value]


@CONSTRUCT.change(values=2)
def set_element(module: GlobalValue, value: int) -> None:
    """Write into the list."""
    LEVELS[0] = (1.0, 0.0)[value]
