"""deterministic_flag: a branch on the deterministic switch, and memory it decides to fill."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class DeterministicFlag(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Tensor) -> Tensor:
        if torch.are_deterministic_algorithms_enabled():
            filled = torch.empty_like(hidden).isnan()
            hidden = torch.where(filled, hidden * 0.5, hidden)
        if torch.is_deterministic_algorithms_warn_only_enabled():
            hidden = hidden + 0.25
        return hidden


CONSTRUCT = Construct("deterministic_flag", DeterministicFlag, kind="ambient mode", guarded=True)


@CONSTRUCT.change(values=3)
def set_deterministic(module: DeterministicFlag, value: int) -> None:
    """Switch deterministic algorithms on, on with warnings only, or off."""
    torch.use_deterministic_algorithms(value < 2, warn_only=value == 1)
