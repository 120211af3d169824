"""lazy_layer: a layer made by the forward when it is first needed, and taken away again."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class LazyLayer(nn.Module):
    scale: Tensor | None

    def __init__(self, features: int) -> None:
        super().__init__()
        self.start = 0.5
        self.register_buffer("scale", None)

    def forward(self, hidden: Tensor) -> Tensor:
        if self.scale is None:
            self.scale = torch.full((hidden.shape[-1],), self.start)
        return (hidden * self.scale).to(hidden.dtype)


CONSTRUCT = Construct("lazy_layer", LazyLayer, kind="module guard", guarded=True)


@CONSTRUCT.change()
def forget(module: LazyLayer, value: int) -> None:
    """Take away what the forward made, so that it is made again."""
    module.scale = None


@CONSTRUCT.change(values=3)
def set_start(module: LazyLayer, value: int) -> None:
    """Set the number that the tensor is filled with when it is made."""
    module.start = (-1.0, 0.25, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_scale(module: LazyLayer, value: int) -> None:
    """Put a tensor of other values in its place, if there is one."""
    if module.scale is not None:
        module.scale = torch.full_like(module.scale, (0.75, 0.5)[value])
