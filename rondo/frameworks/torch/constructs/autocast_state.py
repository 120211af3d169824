"""autocast_state: branches on whether autocast is on and to which dtype."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class AutocastState(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.mix = nn.Linear(features, features)
        self.inner = False

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        mixed = self.mix(hidden.to(self.mix.weight.dtype))
        if torch.is_autocast_enabled("cpu"):
            hidden = hidden + 1
            if torch.get_autocast_dtype("cpu") == torch.float16:
                hidden = hidden * 0.5
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.inner):
            # No parameter: its cast to the outer dtype would be taken from autocast's cache, eager
            # would raise, and compiled code leaves autocast on then (`raised_midway`, #195488).
            again = mixed.float() @ (self.mix.weight.float() * 1)
        return hidden + mixed.tanh().to(hidden.dtype), again


CONSTRUCT = Construct("autocast_state", AutocastState, kind="ambient mode", guarded=True)


@CONSTRUCT.change(values=2)
def set_inner(module: AutocastState, value: int) -> None:
    """Choose whether the forward enters autocast itself."""
    module.inner = value == 0
