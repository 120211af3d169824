"""parameter_strides: a parameter that is given data of other strides, dtype or offset."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class ParameterStrides(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(features) * 0.5 + 0.125)

    def forward(self, hidden: Tensor) -> Tensor:
        mixed = hidden.to(self.weight.dtype) @ self.weight
        tilted = torch.as_strided(self.weight, (2,), (1,)).sum()
        return (mixed.tanh() + tilted).to(hidden.dtype)


CONSTRUCT = Construct("parameter_strides", ParameterStrides, kind="module guard", guarded=True)


@CONSTRUCT.change(values=4)
def set_data(module: ParameterStrides, value: int) -> None:
    """Give the parameter data that is transposed, spread out, of float64, or plain."""
    plain = torch.eye(module.weight.shape[0]) * 0.5
    plain[0] += 0.25
    spread = torch.zeros(plain.shape[0], 2 * plain.shape[1])
    spread[:, ::2] = plain
    module.weight.data = (plain.mT, spread[:, ::2], plain.double(), plain)[value]


@CONSTRUCT.change(values=2)
def set_requires_grad(module: ParameterStrides, value: int) -> None:
    """Freeze the parameter, or thaw it."""
    module.weight.requires_grad_(value == 1)
