"""tensor_identity: a branch on whether two names hold one tensor, and whether it is the input."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class TensorIdentity(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = torch.full((features,), 0.25)
        self.second = torch.full((features,), 0.25)
        self.last: Tensor | None = None

    def forward(self, hidden: Tensor) -> Tensor:
        if self.first is self.second:
            hidden = hidden * 0.5
        if self.last is self.second:
            hidden = hidden + 1
        return hidden + self.first.to(hidden.dtype)


CONSTRUCT = Construct(
    "tensor_identity", TensorIdentity, kind="py-object guard (identity)", guarded=True
)


@CONSTRUCT.change(values=2)
def join(module: TensorIdentity, value: int) -> None:
    """Let both names hold one tensor, or part them."""
    module.second = (module.first, module.first.clone())[value]


@CONSTRUCT.change(values=3)
def set_last(module: TensorIdentity, value: int) -> None:
    """Let the third name hold the first, the second, or nothing."""
    module.last = (module.first, module.second, None)[value]
