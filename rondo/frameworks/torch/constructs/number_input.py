"""number_input: a Python float in a branch, in Python arithmetic, and as data."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class NumberInput(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.threshold = 1.0

    def forward(self, hidden: Tensor, number: float) -> tuple[Tensor, Tensor]:
        bounded = math.tanh(number)
        if number > self.threshold:
            hidden = hidden + 1
        made = torch.full((2,), number) * round(bounded * 4)
        return hidden * (bounded + 0.25) + int(bounded * 8) / 8, made


CONSTRUCT = Construct(
    "number_input",
    NumberInput,
    kind="dynamic specialisation",
    inputs=(InputSpec("number", kind="number"),),
    guarded=True,
)


@CONSTRUCT.change(values=3)
def set_threshold(module: NumberInput, value: int) -> None:
    """Set the number above which the branch is taken."""
    module.threshold = (0.0, 2.0, 1.0)[value]
