"""torch_generator: a `torch.Generator` of the module that each call draws from."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class TorchGenerator(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.source = torch.Generator("cpu").manual_seed(5)

    def forward(self, hidden: Tensor) -> Tensor:
        noise = torch.rand(hidden.shape[-1], generator=self.source, device="cpu")
        return hidden + noise.to(hidden.device, hidden.dtype)


CONSTRUCT = Construct(
    "torch_generator", TorchGenerator, kind="baked trace-time state", guarded=True
)


@CONSTRUCT.change(values=2)
def reseed(module: TorchGenerator, value: int) -> None:
    """Seed the generator anew."""
    module.source.manual_seed((9, 5)[value])


@CONSTRUCT.change()
def replace_source(module: TorchGenerator, value: int) -> None:
    """Hold another generator."""
    module.source = torch.Generator("cpu").manual_seed(5)


@CONSTRUCT.observe
def state(module: TorchGenerator) -> dict[str, object]:
    """Report the state of the generator, as a sum that any draw changes."""
    weights = torch.arange(module.source.get_state().numel(), device="cpu") % 251
    return {"source": int((module.source.get_state().long() * weights).sum())}
