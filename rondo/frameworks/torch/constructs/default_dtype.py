"""default_dtype: tensors made without a dtype, and Python numbers promoted by the default."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class DefaultDtype(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.amounts = [0.25, 1.5]

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        made = torch.tensor(self.amounts) + torch.linspace(0, 1, 2)
        promoted = torch.arange(2) / 2
        return hidden + made.sum().to(hidden.dtype), made, promoted


CONSTRUCT = Construct("default_dtype", DefaultDtype, kind="ambient mode", guarded=True)


@CONSTRUCT.change(values=2)
def set_default(module: DefaultDtype, value: int) -> None:
    """Set the default dtype of the process."""
    torch.set_default_dtype((torch.float64, torch.float32)[value])


@CONSTRUCT.change(values=2)
def set_amounts(module: DefaultDtype, value: int) -> None:
    """Hold numbers of another type: ints make an integer tensor."""
    module.amounts = ([1, 2], [0.25, 1.5])[value]  # type: ignore[assignment]
