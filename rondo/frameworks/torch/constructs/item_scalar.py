"""item_scalar: a counting buffer read by `.item()`, its value then used in float arithmetic.

The read breaks the graph, and the resumed frame gets a Python float that differs on every call: the
bias correction of an optimiser in miniature.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class ItemScalar(nn.Module):
    count: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, hidden: Tensor) -> Tensor:
        self.count.add_(1)
        count = self.count.item()
        step = 0.1 / (1 - 0.5**count)
        spread = (hidden.square() + 1).sqrt() / (1 - 0.8**count) ** 0.5 + 0.001
        moved = hidden.addcdiv(hidden.sin(), spread, value=-step)
        return moved.addcmul(hidden.cos(), spread.reciprocal(), value=step * 2)


CONSTRUCT = Construct("item_scalar", ItemScalar, kind="compile-cache key")


@CONSTRUCT.change(values=3)
def set_count(module: ItemScalar, value: int) -> None:
    """Give the counter another value, in place."""
    module.count.fill_((3.0, 30.0, 0.0)[value])


@CONSTRUCT.change(values=2)
def replace_count(module: ItemScalar, value: int) -> None:
    """Put another tensor in the place of the counter."""
    module.count = torch.full((), 2.0, dtype=(torch.float64, torch.float32)[value])
