"""replaced_layer: a layer exchanged for one of another type, other sizes, or the same weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


def square_linear(features: int, factor: float, bias: bool = True) -> nn.Linear:
    """Return a linear layer with weights given by a formula rather than drawn."""
    layer = nn.Linear(features, features, bias=bias)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(features) * factor)
        if bias:
            layer.bias.fill_(0.25)
    return layer


class ReplacedLayer(nn.Module):
    layer: nn.Module | None

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.layer = square_linear(features, 0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        if self.layer is None:
            return hidden
        kind = next(iter(self.layer.parameters()), hidden).dtype
        return self.layer(hidden.to(kind)).to(hidden.dtype)


CONSTRUCT = Construct("replaced_layer", ReplacedLayer, kind="module guard", guarded=True)

REPLACEMENTS: tuple[Callable[[int], nn.Module | None], ...] = (
    lambda features: nn.Tanh(),
    lambda features: square_linear(features, -0.5),
    lambda features: square_linear(features, 0.5, bias=False),
    lambda features: nn.Sequential(square_linear(features, 0.25), nn.Sigmoid()),
    lambda features: nn.LayerNorm(features),
    lambda features: square_linear(features, 0.75).double().requires_grad_(False),
    lambda features: None,
    lambda features: square_linear(features, 0.5),
)


@CONSTRUCT.change(values=len(REPLACEMENTS))
def replace(module: ReplacedLayer, value: int) -> None:
    """Put another layer in the first one's place, or one like it."""
    module.layer = None
    module.layer = REPLACEMENTS[value](module.features)


@CONSTRUCT.change(values=2)
def delete_bias(module: ReplacedLayer, value: int) -> None:
    """Take the bias of the layer away, or give it one."""
    if isinstance(module.layer, nn.Linear):
        kind = module.layer.weight.dtype
        bias = None if value == 0 else nn.Parameter(torch.ones(module.features, dtype=kind))
        module.layer.bias = bias  # type: ignore[assignment]
