"""grad_mode: a forward that asks whether gradients are recorded."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import SETTING
from rondo.subjects.target import Construct


class GradMode(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any) -> Any:
        if paddle.is_grad_enabled():
            return hidden * 2.0
        return hidden * 0.5


CONSTRUCT = Construct("grad_mode", GradMode, kind=SETTING)


@CONSTRUCT.change(values=2)
def set_recording(module: GradMode, value: int) -> None:
    """Switch the recording of gradients off (0) or on (1)."""
    paddle.framework.core._set_has_grad(bool(value))
