"""torch_random: draws from torch's global generator, seeded by the forward when told so."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from rondo.subjects.target import Construct


class TorchRandom(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.rate = 0.5
        self.seed: int | None = None

    def forward(self, hidden: Tensor) -> Tensor:
        if self.seed is not None:
            torch.manual_seed(self.seed)
        noise = torch.rand(hidden.shape[-1]).to(hidden.dtype)
        return dropout(hidden, self.rate) + noise * torch.bernoulli(torch.full_like(noise, 0.5))


CONSTRUCT = Construct("torch_random", TorchRandom, kind="baked trace-time state", guarded=True)


@CONSTRUCT.change(values=3)
def set_rate(module: TorchRandom, value: int) -> None:
    """Set the dropout rate."""
    module.rate = (0.0, 0.25, 0.5)[value]


@CONSTRUCT.change(values=3)
def set_seed(module: TorchRandom, value: int) -> None:
    """Let the forward seed the generator before it draws, or not."""
    module.seed = (3, 11, None)[value]
