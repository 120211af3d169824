"""base_method: a method reached through `super()`, rebound on the base, and a base exchanged."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Base:
    """The first base."""

    def bend(self, hidden: Tensor) -> Tensor:
        return hidden.sin()


class OtherBase:
    """The base that may come in its place."""

    def bend(self, hidden: Tensor) -> Tensor:
        return hidden * 0.5


class Derived(Base):
    """The class whose method asks its base."""

    def bend(self, hidden: Tensor) -> Tensor:
        return super().bend(hidden) + 0.25


class BaseMethod(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.bender = Derived()

    def forward(self, hidden: Tensor) -> Tensor:
        return self.bender.bend(hidden)


CONSTRUCT = Construct("base_method", BaseMethod, kind="py-object guard")


@CONSTRUCT.change(values=2)
def rebind_on_base(module: BaseMethod, value: int) -> None:
    """Give the base another method."""
    Base.bend = (lambda self, hidden: hidden.cos(), lambda self, hidden: hidden.sin())[value]  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def hold_other(module: BaseMethod, value: int) -> None:
    """Hold an instance of a class made now, on the other base or on the first."""
    base = (OtherBase, Base)[value]
    module.bender = type("Derived", (base,), {})()
