"""written_input: an input that is written in place."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.sequences.vocabulary import BATCH, InputSpec
from rondo.subjects.target import Construct


class WrittenInput(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.step = 1

    def forward(self, hidden: Any, counts: Any) -> Any:
        counts[:] = counts + self.step
        return hidden + paddle.cast(paddle.sum(counts), hidden.dtype)


CONSTRUCT = Construct(
    "written_input",
    WrittenInput,
    kind=ATTRIBUTE,
    inputs=(InputSpec("counts", (BATCH, 4), kind="index", high=5),),
)


@CONSTRUCT.change(values=2)
def set_step(module: WrittenInput, value: int) -> None:
    """Add another number."""
    module.step = (2, 1)[value]
