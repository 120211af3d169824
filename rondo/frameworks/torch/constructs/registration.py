"""registration: one name that is a parameter, a buffer, a plain tensor, or a number by turns."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class Registration(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.shift = nn.Parameter(torch.full((features,), 0.25))

    def forward(self, hidden: Tensor) -> Tensor:
        own = len(list(self.parameters())) + len(list(self.buffers())) / 4
        return (hidden + self.shift).to(hidden.dtype) + own


CONSTRUCT = Construct("registration", Registration, kind="module guard", guarded=True)


@CONSTRUCT.change(values=5)
def register(module: Registration, value: int) -> None:
    """Register the name anew: a buffer, a plain tensor, a number, a frozen or a plain parameter."""
    del module.shift
    tensor = torch.full((module.features,), 0.25)
    if value == 0:
        module.register_buffer("shift", tensor)
    elif value < 3:
        module.__dict__["shift"] = (tensor, 0.25)[value - 1]
    else:
        module.shift = nn.Parameter(tensor, requires_grad=value == 4)


@CONSTRUCT.change(values=2)
def set_persistence(module: Registration, value: int) -> None:
    """Give the module another parameter that the forward only counts, or take it away."""
    if value == 0:
        module.register_parameter("spare", nn.Parameter(torch.zeros(1)))
    elif "spare" in module._parameters:
        del module._parameters["spare"]
