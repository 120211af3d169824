"""number_branch: branches on Python numbers that are arguments."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import CONTROL_FLOW
from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class NumberBranch(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any, number: float, integer: int) -> Any:
        if number > 1.0:
            hidden = hidden * number
        for _ in range(min(max(integer, 0), 3)):
            hidden = hidden + 0.5
        return hidden * 2.0


CONSTRUCT = Construct(
    "number_branch",
    NumberBranch,
    kind=CONTROL_FLOW,
    guarded=True,
    inputs=(InputSpec("number", kind="number"), InputSpec("integer", kind="integer")),
)
