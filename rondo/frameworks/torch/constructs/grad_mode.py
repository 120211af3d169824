"""grad_mode: branches on grad and inference mode, and modes entered by the forward itself."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class GradMode(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.tracked = True

    def forward(self, hidden: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            hidden = hidden + 1
        if torch.is_inference_mode_enabled():
            hidden = hidden * 0.5
        with torch.set_grad_enabled(self.tracked and torch.is_grad_enabled()):
            bent = hidden.sin()
        with torch.no_grad():
            shift = hidden.cos()
        return bent + shift


CONSTRUCT = Construct("grad_mode", GradMode, kind="ambient mode", guarded=True)


@CONSTRUCT.change(values=2)
def set_tracked(module: GradMode, value: int) -> None:
    """Choose whether a part of the forward is differentiated."""
    module.tracked = value == 1
