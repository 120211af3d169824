"""user_parameter: parameters of a layer of the user's own: replaced, frozen, written."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.constructs._builtin import fresh
from rondo.frameworks.paddle.kinds import PARAMETER
from rondo.frameworks.paddle.layers import parameter
from rondo.subjects.target import Construct


class UserParameter(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.shift = parameter((features,), scale=0.5)

    def forward(self, hidden: Any) -> Any:
        value = paddle.cast(hidden, self.weight.dtype) * self.weight + self.shift
        return paddle.cast(value, hidden.dtype)


CONSTRUCT = Construct("user_parameter", UserParameter, kind=PARAMETER, guarded=True)


@CONSTRUCT.change(values=2)
def replace_weight(module: UserParameter, value: int) -> None:
    """Put another parameter in place of the weight."""
    module.weight = fresh(module.weight, (0.5, 2.0)[value])


@CONSTRUCT.change(values=2)
def freeze(module: UserParameter, value: int) -> None:
    """Freeze the weight (0), or thaw it (1)."""
    module.weight.stop_gradient = value == 0


@CONSTRUCT.change()
def scale_in_place(module: UserParameter, value: int) -> None:
    """Double the weight in place."""
    with paddle.no_grad():
        paddle.assign(module.weight * 2.0, module.weight)


@CONSTRUCT.change()
def swap(module: UserParameter, value: int) -> None:
    """Swap weight and shift."""
    module.weight, module.shift = module.shift, module.weight


@CONSTRUCT.change()
def load(module: UserParameter, value: int) -> None:
    """Load a state in which everything is scaled."""
    module.set_state_dict({n: t.detach() * 0.75 for n, t in module.state_dict().items()})
