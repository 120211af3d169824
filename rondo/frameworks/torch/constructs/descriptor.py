"""descriptor: an attribute served by a descriptor of the class, whose state and type change."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Scaled:
    """A descriptor that multiplies an attribute of the instance."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __get__(self, instance: Options, owner: type[Options]) -> float:
        return instance.amount * self.factor


class Options:
    """An object that reads its gain through the descriptor."""

    gain = Scaled(2.0)

    def __init__(self) -> None:
        self.amount = 0.25


class Descriptor(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.options = Options()

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * self.options.gain


CONSTRUCT = Construct("descriptor", Descriptor, kind="py-object guard")


@CONSTRUCT.change(values=2)
def set_amount(module: Descriptor, value: int) -> None:
    """Set the attribute that the descriptor reads."""
    module.options.amount = (-0.25, 0.25)[value]


@CONSTRUCT.change(values=2)
def replace_descriptor(module: Descriptor, value: int) -> None:
    """Put another descriptor on the class."""
    Options.gain = Scaled((4.0, 2.0)[value])


@CONSTRUCT.change(values=2)
def hide(module: Descriptor, value: int) -> None:
    """Hide the descriptor by a plain attribute of the instance, or take that away."""
    module.options.__dict__.pop("gain", None)
    if value == 0:
        module.options.__dict__["gain"] = 1.0


@CONSTRUCT.change(values=2)
def rebind_get(module: Descriptor, value: int) -> None:
    """Let the descriptor's type compute in another way."""
    Scaled.__get__ = (  # type: ignore[method-assign]
        lambda self, instance, owner: instance.amount - self.factor,
        lambda self, instance, owner: instance.amount * self.factor,
    )[value]
