"""function_defaults: a function called without the arguments that have defaults."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import NAME
from rondo.subjects.target import Construct


def scaled(hidden: Any, by: float = 1.0, *, shift: float = 0.0) -> Any:
    """Scale and shift."""
    return hidden * by + shift


class FunctionDefaults(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any) -> Any:
        return scaled(hidden)


CONSTRUCT = Construct("function_defaults", FunctionDefaults, kind=NAME)


@CONSTRUCT.change(values=2)
def set_defaults(module: FunctionDefaults, value: int) -> None:
    """Give the function other defaults."""
    scaled.__defaults__ = ((3.0,), (1.0,))[value]


@CONSTRUCT.change(values=2)
def set_keyword_defaults(module: FunctionDefaults, value: int) -> None:
    """Give the function other defaults for keywords."""
    scaled.__kwdefaults__ = {"shift": (2.0, 0.0)[value]}
