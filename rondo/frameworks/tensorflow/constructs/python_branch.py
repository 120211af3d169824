"""python_branch: branches on Python numbers that are arguments, one trace for each value."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import ARGUMENT
from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class PythonBranch(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.low = tf.Variable(1.0)

    def __call__(self, hidden: Any, amount: float, count: int) -> Any:
        for _ in range(min(count, 3)):
            hidden = hidden * 0.5 + tf.cast(self.low, hidden.dtype)
        return hidden * amount if amount > 0.75 else hidden + amount


CONSTRUCT = Construct(
    "python_branch",
    PythonBranch,
    kind=ARGUMENT,
    guarded=True,
    inputs=(InputSpec("amount", kind="number"), InputSpec("count", kind="integer")),
)


@CONSTRUCT.change(values=2)
def set_low(module: PythonBranch, value: int) -> None:
    """Assign the variable."""
    module.low.assign((2.0, 1.0)[value])
