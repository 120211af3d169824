"""layer_identity: a branch on which of two layers is the active one, while that name moves."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Shift(nn.Module):
    """A layer told apart by its amount, which does not matter to the branch."""

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden.sin()


class LayerIdentity(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.left = Shift()
        self.right = Shift()
        self.active = self.left

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = self.active(hidden)
        if self.active is self.left:
            return hidden + 1
        return hidden * 0.5


CONSTRUCT = Construct("layer_identity", LayerIdentity, kind="py-object guard (identity)")


@CONSTRUCT.change(values=3)
def move_active(module: LayerIdentity, value: int) -> None:
    """Let the active layer be another one."""
    module.active = (module.right, Shift(), module.left)[value]


@CONSTRUCT.change()
def replace_left(module: LayerIdentity, value: int) -> None:
    """Put another layer in the left one's place."""
    module.left = Shift()
