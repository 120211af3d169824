"""failing_call: a call that raises, before and after others."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class FailingCall(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.limit = 1.5

    def forward(self, hidden: Any, number: float) -> Any:
        if number > self.limit:
            raise ValueError("above the limit")
        return hidden * number


CONSTRUCT = Construct(
    "failing_call",
    FailingCall,
    kind=ATTRIBUTE,
    guarded=True,
    inputs=(InputSpec("number", kind="number"),),
)


@CONSTRUCT.change(values=3)
def set_limit(module: FailingCall, value: int) -> None:
    """Raise from another number on."""
    module.limit = (0.25, 100.0, 1.5)[value]
