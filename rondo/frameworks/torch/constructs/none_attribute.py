"""none_attribute: attributes that are None by turns: a tensor, a number, a layer, a function."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class NoneAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.tensor: Tensor | None = None
        self.number: float | None = 0.5
        self.layer: nn.Module | None = None
        self.function: Callable[[Tensor], Tensor] | None = None

    def forward(self, hidden: Tensor) -> Tensor:
        if self.tensor is not None:
            hidden = hidden + self.tensor.to(hidden.dtype)
        if self.number is not None:
            hidden = hidden * self.number
        if self.layer is not None:
            hidden = self.layer(hidden)
        return hidden if self.function is None else self.function(hidden)


CONSTRUCT = Construct("none_attribute", NoneAttribute, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def set_tensor(module: NoneAttribute, value: int) -> None:
    """Give the tensor, or None."""
    module.tensor = (torch.full((module.features,), 0.25), None)[value]


@CONSTRUCT.change(values=3)
def set_number(module: NoneAttribute, value: int) -> None:
    """Give None, zero, or the number."""
    module.number = (None, 0.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_layer(module: NoneAttribute, value: int) -> None:
    """Give the layer, or None."""
    module.layer = (nn.Tanh(), None)[value]


@CONSTRUCT.change(values=2)
def set_function(module: NoneAttribute, value: int) -> None:
    """Give the function, or None."""
    module.function = (torch.sin, None)[value]
