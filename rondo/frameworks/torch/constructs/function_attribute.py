"""function_attribute: an attribute of a function object, and a bound method held by name."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Bender:
    """An object with two methods of one signature."""

    def __init__(self, amount: float) -> None:
        self.amount = amount

    def bend(self, hidden: Tensor) -> Tensor:
        return hidden.sin() + self.amount

    def shift(self, hidden: Tensor) -> Tensor:
        return hidden + self.amount


def strength_holder() -> Any:
    """Return a new function object that carries a number."""

    def hold() -> None:
        return None

    hold.strength = 0.5  # type: ignore[attr-defined]
    return hold


class FunctionAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.holder = strength_holder()
        self.method = Bender(0.25).bend

    def forward(self, hidden: Tensor) -> Tensor:
        return self.method(hidden) * self.holder.strength


CONSTRUCT = Construct("function_attribute", FunctionAttribute, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_strength(module: FunctionAttribute, value: int) -> None:
    """Set the number that the function carries."""
    module.holder.strength = (-1.0, 0.25, 0.5)[value]


@CONSTRUCT.change(values=3)
def hold_method(module: FunctionAttribute, value: int) -> None:
    """Hold another method, the method of another object, or one like the first."""
    module.method = (Bender(0.25).shift, Bender(-0.75).bend, Bender(0.25).bend)[value]


@CONSTRUCT.change(values=2)
def set_amount(module: FunctionAttribute, value: int) -> None:
    """Set the attribute of the object that the held method is bound to."""
    module.method.__self__.amount = (1.0, 0.25)[value]  # type: ignore[attr-defined]
