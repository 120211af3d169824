"""custom_operator: an operator registered by the user, its kernel and fake registered again.

The compiler knows the operator by its name alone. Both registrations may come to say something
else under that name, a cache entry that was keyed by it notwithstanding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


@torch.library.custom_op("rondo::widen", mutates_args=(), schema="(Tensor hidden) -> Tensor")
def widen(hidden: Tensor) -> Tensor:
    """Bend, in the dtype that the registration of the day says."""
    return hidden.sin()


def register(factor: float, dtype: torch.dtype | None) -> None:
    """Register kernel, fake and gradient of the operator for this factor and output dtype."""

    def kernel(hidden: Tensor) -> Tensor:
        return (hidden.sin() * factor).to(dtype or hidden.dtype)

    def fake(hidden: Tensor) -> Tensor:
        return torch.empty_like(hidden, dtype=dtype or hidden.dtype)

    def backward(ctx: object, gradient: Tensor) -> Tensor:
        return gradient * factor

    widen.register_kernel(("cpu", "cuda"))(kernel)
    widen.register_fake(fake)
    widen.register_autograd(backward)


class CustomOperator(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        # What an operator is registered to do outlives a module: begin each life alike.
        register(0.5, None)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        bent = widen(hidden)
        return hidden + bent.to(hidden.dtype), bent


CONSTRUCT = Construct("custom_operator", CustomOperator, kind="compile-cache key")


@CONSTRUCT.change(values=3)
def register_factor(module: CustomOperator, value: int) -> None:
    """Register the operator again with another factor."""
    register((-1.0, 2.0, 0.5)[value], None)


@CONSTRUCT.change(values=3)
def register_dtype(module: CustomOperator, value: int) -> None:
    """Register the operator again with another dtype of its output."""
    register(0.5, (torch.float64, torch.float32, None)[value])
