"""counted_result: a counter that the forward writes and reads."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import SIDE_EFFECT
from rondo.subjects.target import Construct


class CountedResult(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, hidden: Any) -> Any:
        self.calls += 1
        return hidden + self.calls


CONSTRUCT = Construct("counted_result", CountedResult, kind=SIDE_EFFECT, guarded=True)


@CONSTRUCT.change()
def zero(module: CountedResult, value: int) -> None:
    """Set the counter to zero."""
    module.calls = 0


@CONSTRUCT.observe
def state(module: CountedResult) -> dict[str, object]:
    """Report what the forward wrote."""
    return {"calls": module.calls}
