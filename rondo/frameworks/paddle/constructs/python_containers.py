"""python_containers: a list, a dict, a set and a tuple of Python numbers."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import CONTAINER
from rondo.subjects.target import Construct


class PythonContainers(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.numbers: Any = [1.0, 0.5]
        self.table: Any = {"gain": 1.0}
        self.chosen: Any = {1, 2}
        self.pair: Any = (0.0, 1.0)

    def forward(self, hidden: Any) -> Any:
        total = 0.0
        for number in self.numbers:
            total = total + number
        if 3 in self.chosen:
            total = total + 4.0
        return hidden * self.table["gain"] * self.pair[1] + total


CONSTRUCT = Construct("python_containers", PythonContainers, kind=CONTAINER)


@CONSTRUCT.change(values=2)
def write_list(module: PythonContainers, value: int) -> None:
    """Write into the list."""
    module.numbers[0] = (2.0, 1.0)[value]


@CONSTRUCT.change()
def append(module: PythonContainers, value: int) -> None:
    """Append to the list, unless it holds four."""
    if len(module.numbers) < 4:
        module.numbers.append(0.25)


@CONSTRUCT.change(values=2)
def write_dict(module: PythonContainers, value: int) -> None:
    """Write into the dict."""
    module.table["gain"] = (3.0, 1.0)[value]


@CONSTRUCT.change()
def toggle_member(module: PythonContainers, value: int) -> None:
    """Put a number into the set, or take it out."""
    module.chosen ^= {3}


@CONSTRUCT.change(values=2)
def replace_tuple(module: PythonContainers, value: int) -> None:
    """Put another tuple in place."""
    module.pair = ((0.0, 2.0), (0.0, 1.0))[value]
