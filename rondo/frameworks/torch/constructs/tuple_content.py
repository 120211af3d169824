"""tuple_content: a held tuple and a named tuple, replaced by equal and by different ones.

Equality is not sameness: `(1, 2) == (True, 2.0)`, while a tensor filled from them differs in dtype.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class Pair(NamedTuple):
    """Two numbers with names."""

    gain: float
    shift: float


class TupleContent(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.numbers: tuple[float, ...] = (1, 2)
        self.pair = Pair(0.5, 0.25)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        filled = torch.full((2,), self.numbers[0])
        hidden = hidden * self.pair.gain + self.pair.shift
        return hidden + len(self.numbers) / 8, filled


CONSTRUCT = Construct("tuple_content", TupleContent, kind="py-object guard")


@CONSTRUCT.change(values=5)
def replace_numbers(module: TupleContent, value: int) -> None:
    """Hold another tuple: equal but of bools or floats, longer, or as it was."""
    module.numbers = ((True, 2), (1.0, 2), (1, 2, 3), (0, 2), (1, 2))[value]


@CONSTRUCT.change(values=3)
def replace_pair(module: TupleContent, value: int) -> None:
    """Hold another pair."""
    module.pair = (Pair(0.25, 0.5), Pair(-1, 0), Pair(0.5, 0.25))[value]


@CONSTRUCT.change(values=2)
def change_type(module: TupleContent, value: int) -> None:
    """Let a list stand in for the tuple, or a tuple again."""
    module.numbers = ([1, 2], (1, 2))[value]  # type: ignore[assignment]
