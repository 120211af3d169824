"""constant_object: a dtype, a size, a range, a slice and a complex number on the module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class ConstantObject(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.dtype = torch.float32
        self.size = torch.Size([2, 1])
        self.steps = range(0, 3, 2)
        self.part = slice(0, 2)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        made = torch.ones(self.size, dtype=self.dtype)
        for step in self.steps:
            hidden = hidden.sin() + step / 4
        shift = hidden[..., self.part].sum(-1, keepdim=True).tanh()
        return hidden + shift + len(self.steps) / 8, made


CONSTRUCT = Construct("constant_object", ConstantObject, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_dtype(module: ConstantObject, value: int) -> None:
    """Hold another dtype."""
    module.dtype = (torch.int64, torch.bfloat16, torch.float32)[value]


@CONSTRUCT.change(values=3)
def set_size(module: ConstantObject, value: int) -> None:
    """Hold another size."""
    module.size = (torch.Size([3]), torch.Size([]), torch.Size([2, 1]))[value]


@CONSTRUCT.change(values=4)
def set_steps(module: ConstantObject, value: int) -> None:
    """Hold another range: an equal one written otherwise, a longer, an empty, or the first."""
    module.steps = (range(0, 4, 2), range(3), range(0), range(0, 3, 2))[value]


@CONSTRUCT.change(values=3)
def set_part(module: ConstantObject, value: int) -> None:
    """Hold another slice."""
    module.part = (slice(1, None), slice(None, None, 2), slice(0, 2))[value]
