"""side_effect: a counter and a list that the forward writes."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import SIDE_EFFECT
from rondo.subjects.target import Construct


class SideEffect(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.calls = 0
        self.seen: list[int] = []

    def forward(self, hidden: Any) -> Any:
        self.calls = self.calls + 1
        self.seen.append(self.calls)
        return hidden * 1.5


CONSTRUCT = Construct("side_effect", SideEffect, kind=SIDE_EFFECT, guarded=True)


@CONSTRUCT.change()
def zero(module: SideEffect, value: int) -> None:
    """Set the counter to zero and empty the list."""
    module.calls = 0
    module.seen.clear()


@CONSTRUCT.observe
def state(module: SideEffect) -> dict[str, object]:
    """Report what the forward wrote."""
    return {"calls": module.calls, "seen": list(module.seen)}
