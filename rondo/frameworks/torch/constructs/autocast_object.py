"""autocast_object: one autocast context that is held, entered on each call and edited in between.

Its fields are plain attributes, and entering reads them anew. The dtype of the second output shows
at once whether the edited fields were read.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class AutocastObject(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.mix = nn.Linear(features, features)
        self.precision = torch.amp.autocast("cpu", dtype=torch.bfloat16)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        with self.precision:
            mixed = self.mix(hidden.to(self.mix.weight.dtype))
        return hidden + mixed.tanh().to(hidden.dtype), mixed


CONSTRUCT = Construct("autocast_object", AutocastObject, kind="ambient mode")


@CONSTRUCT.change(values=2)
def set_enabled(module: AutocastObject, value: int) -> None:
    """Switch the held context off or on."""
    module.precision._enabled = value == 1


@CONSTRUCT.change(values=2)
def set_dtype(module: AutocastObject, value: int) -> None:
    """Give the held context another fast dtype."""
    module.precision.fast_dtype = (torch.float16, torch.bfloat16)[value]


@CONSTRUCT.change(values=2)
def replace_context(module: AutocastObject, value: int) -> None:
    """Put a new context in the place of the held one."""
    module.precision = torch.amp.autocast("cpu", dtype=torch.bfloat16, enabled=value == 1)
