"""tensor_metadata: branches on layout, dtype, gradient and view facts of a held tensor."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class TensorMetadata(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.table = torch.full((features, features), 0.25)

    def forward(self, hidden: Tensor) -> Tensor:
        table = self.table
        if table.is_contiguous():
            hidden = hidden + 1
        if table.requires_grad:
            hidden = hidden * 0.5
        if table.dtype == torch.float64:
            hidden = -hidden
        if table.dim() == 2 and table.stride(0) == 1:
            hidden = hidden.sin()
        if hidden.is_contiguous() and not hidden.requires_grad:
            hidden = hidden + 0.125
        return hidden + table.sum().tanh().to(hidden.dtype) + table.storage_offset() / 16


CONSTRUCT = Construct("tensor_metadata", TensorMetadata, kind="module guard", guarded=True)


@CONSTRUCT.change(values=7)
def replace(module: TensorMetadata, value: int) -> None:
    """Hold a tensor of other strides, dtype, rank, offset or gradient, or one like the first."""
    features = 3 + module.table.shape[-1] % 3
    plain = torch.arange(float(features * features)).view(features, features) / 64
    module.table = (
        plain.mT,
        plain.double(),
        plain[0],
        plain[1:],
        plain.clone().requires_grad_(),
        plain[:1].expand(features, features),
        torch.full((features, features), 0.25),
    )[value]


@CONSTRUCT.change(values=3)
def edit_in_place(module: TensorMetadata, value: int) -> None:
    """Transpose, thaw or freeze the held tensor itself."""
    if value == 0:
        module.table.t_()
    else:
        module.table.requires_grad_(value == 1)
