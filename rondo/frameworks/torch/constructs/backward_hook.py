"""backward_hook: full backward hooks that come and go on a layer after it was compiled.

A hook added later changes gradients only, so that outputs alone look right.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from rondo.subjects.target import Construct


class BackwardHook(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.mix = nn.Linear(features, features)
        self.handles: list[RemovableHandle] = []

    def forward(self, hidden: Tensor) -> Tensor:
        mixed = self.mix(hidden.to(self.mix.weight.dtype))
        return hidden + mixed.tanh().to(hidden.dtype)


CONSTRUCT = Construct("backward_hook", BackwardHook, kind="module guard")


def scaled(gradients: tuple[Tensor | None, ...], factor: float) -> tuple[Tensor | None, ...]:
    """Scale the gradients that exist; a frozen program has some that are None."""
    return tuple(None if gradient is None else gradient * factor for gradient in gradients)


@CONSTRUCT.change(values=2)
def add_hook(module: BackwardHook, value: int) -> None:
    """Add a full backward hook that scales the gradient of the layer's input."""
    factor = (5.0, -1.0)[value]
    module.handles.append(
        module.mix.register_full_backward_hook(lambda layer, inner, outer: scaled(inner, factor))
    )


@CONSTRUCT.change(values=2)
def add_pre_hook(module: BackwardHook, value: int) -> None:
    """Add a full backward pre-hook that scales the gradient of the layer's output."""
    factor = (3.0, 0.5)[value]
    module.handles.append(
        module.mix.register_full_backward_pre_hook(lambda layer, outer: scaled(outer, factor))
    )


@CONSTRUCT.change(values=2)
def remove_hooks(module: BackwardHook, value: int) -> None:
    """Remove all of the hooks, or the one added last."""
    while module.handles:
        module.handles.pop().remove()
        if value == 1:
            break
