"""held_tangent: an output that waits for its backward, which may be asked for by any tangent.

The backward is compiled at the first tangent, for its type, strides and memory; a later one may be
expanded, strided or a wrapper subclass. The output hangs on a held leaf alone, so that what flows
back is just what the step has chosen.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.testing._internal.two_tensor import TwoTensor

from rondo.subjects.target import Construct


class HeldTangent(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.hold(paired=False)
        self.waiting: Tensor | None = None

    def hold(self, *, paired: bool) -> None:
        plain = torch.linspace(-1, 1, self.features)
        leaf = TwoTensor(plain, plain.clone()) if paired else plain
        self.leaf: Tensor = leaf.requires_grad_()

    def forward(self, hidden: Tensor) -> Tensor:
        self.waiting = self.leaf.sin() * 2
        return hidden + 0.25


CONSTRUCT = Construct("held_tangent", HeldTangent, kind="backward artefact")


@CONSTRUCT.change(values=2)
def hold_leaf(module: HeldTangent, value: int) -> None:
    """Hold a leaf of the wrapper subclass, or a plain one."""
    module.hold(paired=value == 0)


@CONSTRUCT.change(values=4)
def run_backward(module: HeldTangent, value: int) -> None:
    """Run the backward that waits: its tangent plain, expanded, strided, or with unequal halves."""
    waiting, module.waiting = module.waiting, None
    if waiting is None or not waiting.requires_grad:
        return
    count = module.features
    plain = (
        torch.full((count,), 5.0),
        torch.full((1,), 3.0).expand(count),
        torch.linspace(0, 2, 2 * count)[::2],
        torch.full((count,), 5.0),
    )[value]
    paired = isinstance(waiting, TwoTensor)
    tangent = TwoTensor(plain, plain * 2 if value == 3 else plain) if paired else plain
    waiting.backward(tangent)


@CONSTRUCT.observe
def gradient(module: HeldTangent) -> dict[str, object]:
    """Report the gradient of the leaf, of a pair both halves."""
    given = module.leaf.grad
    return {"gradient": [given.a, given.b] if isinstance(given, TwoTensor) else given}
