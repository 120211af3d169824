"""equal_sizes: sizes that are equal on one call and differ on the next.

Two dimensions that were equal when they became symbolic may share one symbol; the guard that they
are equal is then all that stands between a later, unequal pair and the wrong kernel.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class EqualSizes(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.rows = torch.linspace(-1, 1, 2)

    def forward(self, hidden: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        grid = columns.unsqueeze(1) + self.rows
        if grid.shape[0] == grid.shape[1]:
            hidden = hidden + 1
        if hidden.shape[0] == hidden.shape[-1]:
            hidden = hidden * 0.5
        return hidden + grid.sum().tanh().to(hidden.dtype), grid.mT.flatten()


CONSTRUCT = Construct(
    "equal_sizes",
    EqualSizes,
    kind="dynamic specialisation",
    inputs=(InputSpec("columns", ("batch",)),),
    guarded=True,
)


@CONSTRUCT.change(values=5)
def resize_rows(module: EqualSizes, value: int) -> None:
    """Give the held tensor another size."""
    module.rows = torch.linspace(-1, 1, (3, 4, 1, 0, 2)[value])
