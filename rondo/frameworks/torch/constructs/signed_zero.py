"""signed_zero: a float attribute that is 0.0 or -0.0, which are equal and yet differ."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class SignedZero(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.zero = 0.0

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        signed = torch.full((2,), self.zero).copysign(torch.full((2,), self.zero))
        return hidden * math.copysign(0.5, self.zero), 1 / signed


CONSTRUCT = Construct("signed_zero", SignedZero, kind="py-object guard")


@CONSTRUCT.change(values=4)
def set_zero(module: SignedZero, value: int) -> None:
    """Give the attribute the other zero, an int zero, a number, or the first zero."""
    module.zero = (-0.0, 0, 1.0, 0.0)[value]
