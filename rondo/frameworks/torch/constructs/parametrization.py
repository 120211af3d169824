"""parametrization: a parametrization put on a weight, stacked, and taken off again.

Registering swaps the class of the layer for one made on the fly, with a property where the weight
was: three guards deep for what looks like one attribute.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils import parametrize

from rondo.subjects.target import Construct


class Symmetric(nn.Module):
    """Mirror the upper triangle."""

    def forward(self, weight: Tensor) -> Tensor:
        return weight.triu() + weight.triu(1).mT


class Damped(nn.Module):
    """Multiply by a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, weight: Tensor) -> Tensor:
        return weight * self.factor


class Parametrization(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.mix = nn.Linear(features, features)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.mix(hidden.to(self.mix.bias.dtype)).tanh().to(hidden.dtype)


CONSTRUCT = Construct("parametrization", Parametrization, kind="module guard", guarded=True)


@CONSTRUCT.change(values=3)
def register(module: Parametrization, value: int) -> None:
    """Put a parametrization on the weight, unless there are three already."""
    stacked = (
        len(module.mix.parametrizations.weight)  # type: ignore[union-attr, arg-type]
        if parametrize.is_parametrized(module.mix)
        else 0
    )
    if stacked < 3:
        layer = (Symmetric(), Damped(0.5), Damped(-1.0))[value]
        parametrize.register_parametrization(module.mix, "weight", layer)


@CONSTRUCT.change(values=2)
def remove(module: Parametrization, value: int) -> None:
    """Take all parametrizations off, keeping the weight as it looks or as it was."""
    if parametrize.is_parametrized(module.mix):
        parametrize.remove_parametrizations(module.mix, "weight", leave_parametrized=value == 0)
