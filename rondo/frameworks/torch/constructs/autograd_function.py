"""autograd_function: a custom autograd function whose class attribute and backward are replaced.

Its forward and its backward read state at different times: one at the call, one when the gradient
is asked for. A trace that covers both fixes both at once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class Bend(torch.autograd.Function):
    """A sine whose gradient is scaled."""

    scale = 2.0

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, amount: float) -> Tensor:
        ctx.save_for_backward(hidden)
        ctx.amount = amount
        return hidden.sin() * amount

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (hidden,) = ctx.saved_tensors
        return gradients[0] * hidden.cos() * ctx.amount * Bend.scale, None


class AutogradFunction(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.amount = 0.5

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + Bend.apply(hidden, self.amount)


CONSTRUCT = Construct("autograd_function", AutogradFunction, kind="backward artefact", guarded=True)


@CONSTRUCT.change(values=2)
def set_amount(module: AutogradFunction, value: int) -> None:
    """Set the number that is passed to the function."""
    module.amount = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_scale(module: AutogradFunction, value: int) -> None:
    """Set the class attribute that the backward reads."""
    Bend.scale = (-3.0, 2.0)[value]


@CONSTRUCT.change(values=2)
def rebind_backward(module: AutogradFunction, value: int) -> None:
    """Give the class another backward, or one like the first."""
    sign = (-1, 1)[value]

    def backward(ctx: Any, *gradients: Any) -> Any:
        (hidden,) = ctx.saved_tensors
        return gradients[0] * hidden.cos() * ctx.amount * Bend.scale * sign, None

    Bend.backward = staticmethod(backward)  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def rebind_forward(module: AutogradFunction, value: int) -> None:
    """Give the class another forward, or one like the first."""
    sign = (-1, 1)[value]

    def forward(ctx: Any, hidden: Tensor, amount: float) -> Tensor:
        ctx.save_for_backward(hidden)
        ctx.amount = amount
        return hidden.sin() * amount * sign

    Bend.forward = staticmethod(forward)  # type: ignore[method-assign]
