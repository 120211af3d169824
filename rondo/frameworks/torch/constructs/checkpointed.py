"""checkpointed: activation checkpointing around a part that reads an attribute and drops out.

The backward runs the part again, and with dropout it must draw the very numbers of the forward.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.utils.checkpoint import checkpoint

from rondo.subjects.target import Construct


class Checkpointed(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.mix = nn.Linear(features, features)
        self.rate = 0.0
        self.enabled = True

    def part(self, hidden: Tensor) -> Tensor:
        mixed = self.mix(hidden.to(self.mix.weight.dtype)).tanh()
        return dropout(mixed, self.rate).to(hidden.dtype)

    def forward(self, hidden: Tensor) -> Tensor:
        if self.enabled:
            return hidden + checkpoint(self.part, hidden, use_reentrant=False)
        return hidden + self.part(hidden)


CONSTRUCT = Construct("checkpointed", Checkpointed, kind="backward artefact")


@CONSTRUCT.change(values=3)
def set_rate(module: Checkpointed, value: int) -> None:
    """Set the dropout rate of the part."""
    module.rate = (0.25, 0.5, 0.0)[value]


@CONSTRUCT.change(values=2)
def set_enabled(module: Checkpointed, value: int) -> None:
    """Stop checkpointing, or checkpoint again."""
    module.enabled = value == 1


@CONSTRUCT.change(values=2)
def freeze(module: Checkpointed, value: int) -> None:
    """Freeze the layer's weight, or thaw it."""
    module.mix.weight.requires_grad_(value == 1)
