"""grad_presence: branches on whether a parameter has a gradient and whether it wants one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class GradPresence(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((features,), 0.5))

    def forward(self, hidden: Tensor) -> Tensor:
        shifted = hidden + self.weight.to(hidden.dtype)
        if self.weight.grad is not None:
            shifted = shifted + self.weight.grad.tanh().to(hidden.dtype)
        if self.weight.requires_grad:
            shifted = shifted * 0.5
        return shifted


CONSTRUCT = Construct("grad_presence", GradPresence, kind="module guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_grad(module: GradPresence, value: int) -> None:
    """Give the parameter a gradient, another one, or none."""
    module.weight.grad = (
        torch.ones_like(module.weight),
        torch.full_like(module.weight, -0.5),
        None,
    )[value]


@CONSTRUCT.change(values=2)
def set_requires_grad(module: GradPresence, value: int) -> None:
    """Freeze the parameter, or thaw it."""
    module.weight.requires_grad_(value == 1)


@CONSTRUCT.change()
def replace_weight(module: GradPresence, value: int) -> None:
    """Put a parameter without a gradient in its place."""
    module.weight = nn.Parameter(module.weight.detach().clone())
