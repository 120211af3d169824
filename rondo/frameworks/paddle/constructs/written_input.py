"""written_input: inputs that are written in place, perhaps one tensor under two names."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.sequences.vocabulary import BATCH, InputSpec
from rondo.subjects.target import Construct


class WrittenInput(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.step = 1.0

    def forward(self, hidden: Any, left: Any, right: Any) -> Any:
        left[:] = left + self.step
        return (
            hidden
            + paddle.mean(paddle.cast(left, hidden.dtype))
            + paddle.mean(paddle.cast(right, hidden.dtype))
        )


CONSTRUCT = Construct(
    "written_input",
    WrittenInput,
    kind=ATTRIBUTE,
    inputs=(InputSpec("left", (BATCH, 4)), InputSpec("right", (BATCH, 4))),
)


@CONSTRUCT.change(values=2)
def set_step(module: WrittenInput, value: int) -> None:
    """Write another number."""
    module.step = (2.0, 1.0)[value]
