"""tensor_branch: branches and loops on tensors, which AutoGraph turns into graph control flow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import CONTROL_FLOW
from rondo.subjects.target import Construct


class TensorBranch(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.bound = tf.Variable(0.0, trainable=False)
        self.step = 0.5

    def __call__(self, hidden: Any) -> Any:
        total = tf.reduce_sum(tf.cast(hidden, tf.float32))
        rounds = 0
        while total > self.bound and rounds < 4:
            total -= self.step * 8.0
            rounds += 1
        # One branch returns what the other one changes: both must give tensors of one kind.
        hidden = hidden * 2.0 if total > self.bound else hidden - 1.0
        return hidden, tf.convert_to_tensor(rounds)


CONSTRUCT = Construct("tensor_branch", TensorBranch, kind=CONTROL_FLOW)


@CONSTRUCT.change(values=3)
def set_bound(module: TensorBranch, value: int) -> None:
    """Assign the bound."""
    module.bound.assign((5.0, -5.0, 0.0)[value])


@CONSTRUCT.change(values=2)
def set_step(module: TensorBranch, value: int) -> None:
    """Give the loop another step, a Python float."""
    module.step = (2.0, 0.5)[value]
