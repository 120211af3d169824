"""string_attribute: a string that names a function, is formatted, compared and searched."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class StringAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.function = "sin"
        self.mode = "shift+scale"

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = getattr(torch, self.function)(hidden)
        if "shift" in self.mode:
            hidden = hidden + len(self.mode) / 16
        if f"{self.mode}!".endswith("scale!"):
            hidden = hidden * 0.5
        return hidden


CONSTRUCT = Construct("string_attribute", StringAttribute, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_function(module: StringAttribute, value: int) -> None:
    """Name another function."""
    module.function = ("cos", "tanh", "sin")[value]


@CONSTRUCT.change(values=4)
def set_mode(module: StringAttribute, value: int) -> None:
    """Set the string that is searched."""
    module.mode = ("scale", "shift", "", "shift+scale")[value]
