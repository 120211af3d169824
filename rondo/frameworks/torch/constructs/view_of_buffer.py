"""view_of_buffer: an attribute that is a view of a buffer, updated in place and moved."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class ViewOfBuffer(nn.Module):
    bank: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("bank", torch.zeros(3, features))
        self.row = self.bank[0]

    def forward(self, hidden: Tensor) -> Tensor:
        with torch.no_grad():
            self.row.mul_(0.5).add_(1)
        return hidden + self.bank.sum(0).tanh().to(hidden.dtype) + self.row.to(hidden.dtype)


CONSTRUCT = Construct("view_of_buffer", ViewOfBuffer, kind="alias guard")


@CONSTRUCT.change(values=3)
def move_view(module: ViewOfBuffer, value: int) -> None:
    """Let the view show another row."""
    module.row = module.bank[(1, 2, 0)[value]]


@CONSTRUCT.change(values=2)
def cut_loose(module: ViewOfBuffer, value: int) -> None:
    """Put a tensor of its own, or a view across the rows, in the view's place."""
    features = module.bank.shape[1]
    module.row = (torch.zeros(features), module.bank.view(-1)[1 : features + 1])[value]


@CONSTRUCT.change()
def zero_bank(module: ViewOfBuffer, value: int) -> None:
    """Zero the buffer in place."""
    module.bank.zero_()


@CONSTRUCT.observe
def shown(module: ViewOfBuffer) -> dict[str, object]:
    """Report what the view shows."""
    return {"row": module.row}
