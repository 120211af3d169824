"""builtin_sequential: Paddle's own Sequential and LayerDict, with members put in and taken out."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import CONTAINER
from rondo.subjects.target import Construct


class BuiltinSequential(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.chain = paddle.nn.Sequential(paddle.nn.Tanh(), paddle.nn.Sigmoid())
        self.named = paddle.nn.LayerDict({"last": paddle.nn.Tanh()})

    def forward(self, hidden: Any) -> Any:
        return self.named["last"](self.chain(hidden))


CONSTRUCT = Construct("builtin_sequential", BuiltinSequential, kind=CONTAINER, guarded=True)


@CONSTRUCT.change()
def replace(module: BuiltinSequential, value: int) -> None:
    """Put a rectifier in the second place."""
    module.chain["1"] = paddle.nn.ReLU()


@CONSTRUCT.change()
def append(module: BuiltinSequential, value: int) -> None:
    """Add a layer at the end, unless there are four."""
    if len(module.chain) < 4:
        module.chain.add_sublayer(str(len(module.chain)), paddle.nn.Softsign())


@CONSTRUCT.change(values=2)
def replace_named(module: BuiltinSequential, value: int) -> None:
    """Put another layer under the name."""
    module.named["last"] = (paddle.nn.ReLU, paddle.nn.Tanh)[value]()
