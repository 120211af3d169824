"""buffer_update: a buffer that the forward updates in place and that is rebound between calls."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class BufferUpdate(nn.Module):
    memory: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("memory", torch.zeros(features))

    def forward(self, hidden: Tensor) -> Tensor:
        with torch.no_grad():
            news = hidden.flatten(0, -2).sum(0).tanh()
            self.memory.mul_(0.5).add_(news.to(self.memory.dtype))
        return (hidden + self.memory).to(hidden.dtype)


CONSTRUCT = Construct("buffer_update", BufferUpdate, kind="module guard", guarded=True)


@CONSTRUCT.change(values=2)
def fill(module: BufferUpdate, value: int) -> None:
    """Fill the buffer in place."""
    module.memory.fill_((1.0, 0.0)[value])


@CONSTRUCT.change(values=4)
def rebind(module: BufferUpdate, value: int) -> None:
    """Put a tensor of another dtype, of other strides, a view or a plain one in its place."""
    features = module.memory.shape[0]
    module.memory = (
        torch.ones(features, dtype=torch.float64),
        torch.ones(2 * features)[::2],
        torch.ones(1).expand(features).clone().view(features),
        torch.zeros(features),
    )[value]


@CONSTRUCT.change()
def cut_slice(module: BufferUpdate, value: int) -> None:
    """Put a slice of a longer tensor in the buffer's place, with an offset into its storage."""
    module.memory = torch.zeros(module.memory.shape[0] + 1)[1:]
