"""tensor_tag: Python attributes set on a parameter object, read by the forward."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class TensorTag(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((features,), 0.25))
        self.weight.role = "add"  # type: ignore[attr-defined]

    def forward(self, hidden: Tensor) -> Tensor:
        if getattr(self.weight, "role", None) == "add":
            hidden = hidden + self.weight.to(hidden.dtype)
        return hidden * getattr(self.weight, "strength", 0.5)


CONSTRUCT = Construct("tensor_tag", TensorTag, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_role(module: TensorTag, value: int) -> None:
    """Set the string on the parameter, or take it away."""
    if value < 2:
        module.weight.role = ("skip", "add")[value]  # type: ignore[attr-defined]
    else:
        module.weight.__dict__.pop("role", None)


@CONSTRUCT.change(values=3)
def set_strength(module: TensorTag, value: int) -> None:
    """Set the number on the parameter, or take it away."""
    if value < 2:
        module.weight.strength = (-1.0, 1.0)[value]  # type: ignore[attr-defined]
    else:
        module.weight.__dict__.pop("strength", None)


@CONSTRUCT.change()
def replace_weight(module: TensorTag, value: int) -> None:
    """Put a parameter without attributes in its place."""
    module.weight = nn.Parameter(torch.full_like(module.weight, 0.25))
