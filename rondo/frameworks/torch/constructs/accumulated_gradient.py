"""accumulated_gradient: gradients that add up over calls, and what is done to them in between.

A recorded backward leaves its gradients in memory that the next run writes again. Autograd takes
such a gradient as it is where there is none yet, and adds to the one that there is.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class AccumulatedGradient(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.linspace(-1, 1, features))

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + (hidden * self.gain.to(hidden.dtype)).tanh()


CONSTRUCT = Construct(
    "accumulated_gradient", AccumulatedGradient, kind="cudagraph memory", guarded=True
)


@CONSTRUCT.change(values=3)
def clear_gradient(module: AccumulatedGradient, value: int) -> None:
    """Begin a new sum: with memory of its own, in the memory that there is, or with none."""
    if value == 0:
        module.gain.grad = torch.zeros_like(module.gain)
    elif value == 1 and module.gain.grad is not None:
        module.gain.grad.zero_()
    else:
        module.gain.grad = None


@CONSTRUCT.change()
def halve_gradient(module: AccumulatedGradient, value: int) -> None:
    """Scale the sum in place, as clipping does."""
    if module.gain.grad is not None:
        module.gain.grad.mul_(0.5)


@CONSTRUCT.change()
def step(module: AccumulatedGradient, value: int) -> None:
    """Take a step of gradient descent and keep the sum."""
    if module.gain.grad is not None:
        with torch.no_grad():
            module.gain.sub_(module.gain.grad.clamp(-1, 1) * 0.125).clamp_(-2, 2)
