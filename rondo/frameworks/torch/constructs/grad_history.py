"""grad_history: branches on whether a held tensor is a leaf, and whether another one is a view.

Both are questions about how the tensor came to be. Sizes, strides, dtype and whether it wants a
gradient are the same whatever the answer is. (`grad_fn` asks the same and breaks the graph.)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class GradHistory(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.held = torch.ones(features, requires_grad=True)
        self.table = torch.ones(features)

    def forward(self, hidden: Tensor) -> Tensor:
        if self.held.is_leaf:
            hidden = hidden + 1
        if self.table._base is None:
            hidden = hidden - 0.25
        return hidden


CONSTRUCT = Construct("grad_history", GradHistory, kind="py-object guard")


@CONSTRUCT.change(values=2)
def compute_held(module: GradHistory, value: int) -> None:
    """Hold a tensor that was computed from a leaf, or a leaf again."""
    leaf = torch.ones(module.features, requires_grad=True)
    with torch.enable_grad():
        module.held = leaf * 1 if value == 0 else leaf


@CONSTRUCT.change(values=2)
def view_table(module: GradHistory, value: int) -> None:
    """Hold a view of a larger tensor, or a tensor of its own again."""
    whole = torch.ones(2, module.features)
    module.table = whole[0] if value == 0 else whole[0].clone()
