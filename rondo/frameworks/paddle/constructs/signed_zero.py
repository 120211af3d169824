"""signed_zero: a float argument that is 0.0 or -0.0, which compare equal."""

from __future__ import annotations

import math
from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ARGUMENT
from rondo.subjects.target import Construct


class SignedZero(paddle.nn.Layer):
    passed = ("height",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.height = 0.0

    def forward(self, hidden: Any, height: float) -> Any:
        return hidden * (1.0 + math.copysign(0.5, height))


CONSTRUCT = Construct("signed_zero", SignedZero, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=3)
def set_height(module: SignedZero, value: int) -> None:
    """Pass -0.0, 0.0 or 1.0 from now on."""
    module.height = (-0.0, 0.0, 1.0)[value]
