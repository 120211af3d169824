"""kept_output: an output that is kept when the next call is made, and looked at after that.

Recorded CUDA graphs write each run's outputs into the same memory. Whoever keeps one has to copy it
before the next run; torch refuses to read it later, and must not hand out the newer numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class KeptOutput(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale = 0.5
        self.latest = torch.zeros(features)
        self.kept = torch.zeros(features)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        mean = hidden.detach().flatten(0, -2).float().mean(0)
        self.latest = mean.tanh() * self.scale
        return hidden + self.latest.to(hidden.dtype), self.latest


CONSTRUCT = Construct("kept_output", KeptOutput, kind="cudagraph memory", guarded=True)


@CONSTRUCT.change(values=2)
def keep(module: KeptOutput, value: int) -> None:
    """Keep the latest output itself, or a copy of it."""
    module.kept = module.latest if value == 0 else module.latest.clone()


@CONSTRUCT.change()
def read_back(module: KeptOutput, value: int) -> None:
    """Use what was kept, as whoever keeps it has in mind: its sum decides on the scale."""
    module.scale = 0.25 + 0.5 * float(module.kept.sum().tanh())


@CONSTRUCT.change(values=2)
def set_scale(module: KeptOutput, value: int) -> None:
    """Set the factor of the outputs to come."""
    module.scale = (-1.0, 0.5)[value]


@CONSTRUCT.observe
def kept(module: KeptOutput) -> dict[str, object]:
    """Report what was kept."""
    return {"kept": module.kept}
