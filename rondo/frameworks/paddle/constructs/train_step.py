"""train_step: an optimizer with momentum that steps inside of the forward."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import PARAMETER
from rondo.frameworks.paddle.layers import parameter
from rondo.subjects.target import Construct


class TrainStep(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.optimizer = paddle.optimizer.Momentum(0.1, 0.5, parameters=[self.weight])

    def forward(self, hidden: Any) -> Any:
        return paddle.cast(
            paddle.tanh(paddle.cast(hidden, self.weight.dtype) * self.weight), hidden.dtype
        )


CONSTRUCT = Construct("train_step", TrainStep, kind=PARAMETER, guarded=True)


@CONSTRUCT.change()
def step(module: TrainStep, value: int) -> None:
    """Take the optimizer's step and clear gradients."""
    module.optimizer.step()
    module.optimizer.clear_grad()


@CONSTRUCT.change(values=2)
def set_rate(module: TrainStep, value: int) -> None:
    """Give it another learning rate."""
    module.optimizer.set_lr((0.5, 0.1)[value])
