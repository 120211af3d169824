"""mode_argument: a string, None or a member of an enumeration, passed as an argument."""

from __future__ import annotations

from enum import Enum
from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ARGUMENT
from rondo.subjects.target import Construct


class Mode(Enum):
    """What a forward tells apart by identity."""

    HALF = 1


class ModeArgument(paddle.nn.Layer):
    passed = ("mode",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.mode: Any = "double"

    def forward(self, hidden: Any, mode: Any) -> Any:
        if mode is None:
            return hidden + 1.0
        if mode is Mode.HALF:
            return hidden * 0.5
        if mode == "double":
            return hidden * 2.0
        return hidden * 3.0


CONSTRUCT = Construct("mode_argument", ModeArgument, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=4)
def set_mode(module: ModeArgument, value: int) -> None:
    """Pass 'triple', None, an enumeration's member or 'double'."""
    module.mode = ("triple", None, Mode.HALF, "double")[value]
