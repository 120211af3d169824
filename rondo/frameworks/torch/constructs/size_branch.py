"""size_branch: the batch size as data, in a branch, in a loop and in a slice."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class SizeBranch(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.threshold = 3

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        rows = hidden.shape[0]
        if rows > self.threshold:
            hidden = hidden * 0.5
        for _ in range(min(rows, 3)):
            hidden = hidden.sin() + 0.125
        counted = torch.arange(rows).sum() + rows
        return hidden + rows / 16, hidden[: rows // 2].sum().float() + counted


CONSTRUCT = Construct("size_branch", SizeBranch, kind="dynamic specialisation", guarded=True)


@CONSTRUCT.change(values=4)
def set_threshold(module: SizeBranch, value: int) -> None:
    """Set the size above which the branch is taken."""
    module.threshold = (0, 1, 7, 3)[value]
