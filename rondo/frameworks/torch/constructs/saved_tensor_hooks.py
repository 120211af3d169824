"""saved_tensor_hooks: hooks around a part of the forward that pack what autograd saves."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from rondo.subjects.target import Construct


class SavedTensorHooks(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.pack: Callable[[Tensor], Tensor] = lambda saved: saved
        self.unpack: Callable[[Tensor], Tensor] = lambda packed: packed * 2

    def forward(self, hidden: Tensor) -> Tensor:
        with saved_tensors_hooks(self.pack, self.unpack):
            bent = hidden.sin()
        return bent + hidden


CONSTRUCT = Construct(
    "saved_tensor_hooks", SavedTensorHooks, kind="backward artefact", guarded=True
)


@CONSTRUCT.change(values=2)
def replace_unpack(module: SavedTensorHooks, value: int) -> None:
    """Hold another function that unpacks, which the gradient shows."""
    factor = (-1.0, 2.0)[value]
    module.unpack = lambda packed: packed * factor


@CONSTRUCT.change(values=2)
def replace_pack(module: SavedTensorHooks, value: int) -> None:
    """Hold another function that packs."""
    module.pack = (lambda saved: saved.round(), lambda saved: saved)[value]
