"""closure_value: a closure whose cell is assigned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import NAME
from rondo.subjects.target import Construct


def make_closure() -> tuple[Callable[[Any], Any], Callable[[float], None]]:
    """Return a function that reads a cell, and one that assigns it."""
    amount = 1.0

    def use(hidden: Any) -> Any:
        return hidden * amount

    def assign(value: float) -> None:
        nonlocal amount
        amount = value

    return use, assign


class ClosureValue(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.use, self.assign = make_closure()

    def forward(self, hidden: Any) -> Any:
        return self.use(hidden)


CONSTRUCT = Construct("closure_value", ClosureValue, kind=NAME, guarded=True)


@CONSTRUCT.change(values=2)
def set_cell(module: ClosureValue, value: int) -> None:
    """Assign what the closure reads."""
    module.assign((0.5, 1.0)[value])
