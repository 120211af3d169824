"""tensor_branch: a branch on a tensor's value, around what an attribute says."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class TensorBranch(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.bound = 0.0

    def forward(self, hidden: Any) -> Any:
        if paddle.mean(paddle.cast(hidden, "float32")) > self.bound:
            return hidden * 2.0
        return hidden - 1.0


CONSTRUCT = Construct("tensor_branch", TensorBranch, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=3)
def set_bound(module: TensorBranch, value: int) -> None:
    """Give the branch another bound."""
    module.bound = (-100.0, 100.0, 0.0)[value]
