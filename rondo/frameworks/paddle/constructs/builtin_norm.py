"""builtin_norm: norms of Paddle's own: epsilon, momentum, and global statistics."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.constructs._builtin import filled
from rondo.frameworks.paddle.kinds import BUILTIN
from rondo.subjects.target import Construct


class BuiltinNorm(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layer_norm = filled(paddle.nn.LayerNorm(features))
        self.batch_norm = filled(paddle.nn.BatchNorm1D(features))

    def forward(self, hidden: Any) -> Any:
        value = self.layer_norm(paddle.cast(hidden, self.layer_norm.weight.dtype))
        flat = paddle.reshape(value, [-1, hidden.shape[-1]])
        return paddle.cast(paddle.reshape(self.batch_norm(flat), hidden.shape), hidden.dtype)


CONSTRUCT = Construct("builtin_norm", BuiltinNorm, kind=BUILTIN)


@CONSTRUCT.change(values=2)
def set_epsilon(module: BuiltinNorm, value: int) -> None:
    """Give the layer norm another epsilon."""
    module.layer_norm._epsilon = (1e-3, 1e-5)[value]


@CONSTRUCT.change(values=2)
def set_momentum(module: BuiltinNorm, value: int) -> None:
    """Give the batch norm another momentum."""
    module.batch_norm._momentum = (0.1, 0.9)[value]


@CONSTRUCT.change(values=2)
def use_global(module: BuiltinNorm, value: int) -> None:
    """Use running statistics in training too (0), or not (1)."""
    module.batch_norm._use_global_stats = (True, None)[value]
