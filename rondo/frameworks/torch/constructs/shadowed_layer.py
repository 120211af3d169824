"""shadowed_layer: a name in the instance `__dict__` that hides the registered layer."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Shift(nn.Module):
    """A layer told apart by the amount it shifts by."""

    def __init__(self, amount: float) -> None:
        super().__init__()
        self.amount = amount

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.amount


class ShadowedLayer(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.shift = Shift(0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.shift(hidden).tanh()


CONSTRUCT = Construct("shadowed_layer", ShadowedLayer, kind="module guard")


@CONSTRUCT.change(values=3)
def shadow(module: ShadowedLayer, value: int) -> None:
    """Hide the registered layer by another layer or a function, or take the shadow away."""
    module.__dict__.pop("shift", None)
    if value < 2:
        module.__dict__["shift"] = (Shift(-1.0), lambda hidden: hidden * 0.5)[value]


@CONSTRUCT.change(values=2)
def replace(module: ShadowedLayer, value: int) -> None:
    """Put another layer under the registered name."""
    module._modules["shift"] = Shift((2.0, 0.5)[value])


@CONSTRUCT.change(values=2)
def set_amount(module: ShadowedLayer, value: int) -> None:
    """Set the amount of the registered layer."""
    module._modules["shift"].amount = (-0.5, 0.5)[value]  # type: ignore[union-attr]
