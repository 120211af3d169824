"""buffer_update: buffers that the forward reads and writes."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import PARAMETER
from rondo.subjects.target import Construct


class BufferUpdate(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("total", paddle.to_tensor([0.0]))
        self.register_buffer("scale", paddle.to_tensor([1.0]))

    def forward(self, hidden: Any) -> Any:
        result = hidden * paddle.cast(self.scale + self.total * 0.125, hidden.dtype)
        self.total[:] = self.total + 1.0
        return result


CONSTRUCT = Construct("buffer_update", BufferUpdate, kind=PARAMETER, guarded=True)


@CONSTRUCT.change(values=2)
def replace(module: BufferUpdate, value: int) -> None:
    """Put another buffer in place of the scale."""
    module.scale = paddle.to_tensor([(0.5, 1.0)[value]])


@CONSTRUCT.change(values=2)
def write(module: BufferUpdate, value: int) -> None:
    """Write into the scale."""
    paddle.assign(paddle.to_tensor([(2.0, 1.0)[value]]), module.scale)


@CONSTRUCT.change()
def zero(module: BufferUpdate, value: int) -> None:
    """Zero the total."""
    paddle.assign(paddle.to_tensor([0.0]), module.total)
