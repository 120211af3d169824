"""failing_call: a call that raises while it is traced, without having made a variable."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import FAILED
from rondo.frameworks.tensorflow.layers import parameter
from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class FailingCall(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = parameter((features,), fill=1.0)

    def __call__(self, hidden: Any, limit: float) -> Any:
        if limit < 0.0:
            raise ValueError("the limit is negative")
        scaled = hidden * tf.cast(self.gain, hidden.dtype)
        return tf.clip_by_value(scaled, -9.0 - limit, 9.0 + limit)


CONSTRUCT = Construct(
    "failing_call",
    FailingCall,
    kind=FAILED,
    guarded=True,
    inputs=(InputSpec("limit", kind="number"),),
)


@CONSTRUCT.change(values=2)
def assign(module: FailingCall, value: int) -> None:
    """Assign the variable."""
    module.gain.assign(tf.ones_like(module.gain) * (0.5, 1.0)[value])
