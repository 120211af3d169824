"""integer_input: a Python int that is a shift, a size, a loop bound and data at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class IntegerInput(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.modulus = 3

    def forward(self, hidden: Tensor, number: int) -> tuple[Tensor, Tensor]:
        rest = number % self.modulus
        hidden = hidden.roll(number, -1) + rest / 4
        if number > 2:
            hidden = -hidden
        data = torch.full((rest + 1,), number)
        return hidden, torch.tensor([number, rest, number // 2]).sum() + data


CONSTRUCT = Construct(
    "integer_input",
    IntegerInput,
    kind="dynamic specialisation",
    inputs=(InputSpec("number", kind="integer"),),
)


@CONSTRUCT.change(values=3)
def set_modulus(module: IntegerInput, value: int) -> None:
    """Set the modulus that the number is taken by."""
    module.modulus = (2, 4, 3)[value]
