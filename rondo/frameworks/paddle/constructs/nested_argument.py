"""nested_argument: numbers inside of a tuple and a dict that are passed as arguments."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ARGUMENT
from rondo.subjects.target import Construct


class NestedArgument(paddle.nn.Layer):
    passed = ("pair", "table")

    def __init__(self, features: int) -> None:
        super().__init__()
        self.pair: Any = (1, 2)
        self.table: Any = {"scale": 1, "shift": 0}

    def forward(self, hidden: Any, pair: Any, table: Any) -> Any:
        first = 0.5 if isinstance(pair[0], bool) else pair[0]
        shift = 3.0
        for name in table:
            shift = shift * 2.0 + table[name]
        return hidden * first + shift


CONSTRUCT = Construct("nested_argument", NestedArgument, kind=ARGUMENT)


@CONSTRUCT.change(values=4)
def set_pair(module: NestedArgument, value: int) -> None:
    """Pass another pair: (1, 2), (True, 2), (1.0, 2) or (2, 1)."""
    module.pair = ((1, 2), (True, 2), (1.0, 2), (2, 1))[value]


@CONSTRUCT.change(values=2)
def reorder(module: NestedArgument, value: int) -> None:
    """Pass the dict's entries in the other order (0) or as before (1)."""
    items = [("scale", 1), ("shift", 0)]
    module.table = dict(items[::-1] if value == 0 else items)


@CONSTRUCT.change(values=2)
def add_entry(module: NestedArgument, value: int) -> None:
    """Pass a dict with a third entry (0), or with two (1)."""
    module.table = {"scale": 1, "shift": 0} | ({"extra": 2} if value == 0 else {})
