"""raised_midway: an index out of range, raised by a kernel inside of entered contexts.

Leaving the contexts is the compiled code's duty then. A mode that stays on is seen by every call
that comes after, in the whole process.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class RaisedMidway(nn.Module):
    position: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.mix = nn.Linear(features, features)
        self.register_buffer("position", torch.tensor([0, 1]))

    def forward(self, hidden: Tensor) -> Tensor:
        table = torch.linspace(-1, 1, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
            mixed = self.mix(hidden.to(self.mix.weight.dtype))
            picked = table.index_select(0, self.position).sum()
        return hidden + mixed.tanh().to(hidden.dtype) + picked.to(hidden.dtype)


CONSTRUCT = Construct("raised_midway", RaisedMidway, kind="leaked process state")


@CONSTRUCT.change(values=3)
def set_position(module: RaisedMidway, value: int) -> None:
    """Point out of the table, elsewhere in it, or where it pointed at first."""
    module.position.copy_(torch.tensor(((0, 9), (2, 3), (0, 1))[value]))
