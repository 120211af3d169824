"""transform_inside: grad, jvp and their nesting over a function of the module."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import grad, jvp

from rondo.subjects.target import Construct


class TransformInside(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 0.5
        self.level = 1

    def energy(self, hidden: Tensor) -> Tensor:
        return (hidden.sin() * self.factor).sum()

    def forward(self, hidden: Tensor) -> Tensor:
        if self.level == 0:
            return hidden + self.energy(hidden).tanh()
        if self.level == 1:
            return hidden + grad(self.energy)(hidden)
        if self.level == 2:
            return hidden + grad(lambda h: grad(self.energy)(h).sum())(hidden)
        return hidden + jvp(self.energy, (hidden,), (torch.ones_like(hidden),))[1].tanh()


CONSTRUCT = Construct("transform_inside", TransformInside, kind="ambient mode")


@CONSTRUCT.change(values=2)
def set_factor(module: TransformInside, value: int) -> None:
    """Set the constant that the differentiated function reads."""
    module.factor = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=4)
def set_level(module: TransformInside, value: int) -> None:
    """Choose the transform: none, twice grad, jvp, or grad."""
    module.level = (0, 2, 3, 1)[value]
