"""shape_branch: branches on the batch size."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import CONTROL_FLOW
from rondo.subjects.target import Construct


class ShapeBranch(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any) -> Any:
        if hidden.shape[0] == 1:
            return hidden * 5.0
        if hidden.shape[0] > 2:
            return hidden * 2.0
        return hidden + 1.0


CONSTRUCT = Construct("shape_branch", ShapeBranch, kind=CONTROL_FLOW, guarded=True)
