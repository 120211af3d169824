"""class_rebound: the global name of a class, tested against and called, comes to mean another.

A held object stays an instance of the old class, so that `isinstance` turns false without any
change to the object.
"""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Gain:
    """The class that the name means at first."""

    def __init__(self) -> None:
        self.factor = 0.5


class OtherGain:
    """The class that the name may come to mean."""

    def __init__(self) -> None:
        self.factor = -0.25


Chosen: type[Gain] | type[OtherGain] = Gain


class ClassRebound(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.held = Gain()

    def forward(self, hidden: Tensor) -> Tensor:
        made = Chosen()
        if isinstance(self.held, Chosen):
            hidden = hidden + 1
        return hidden * made.factor


CONSTRUCT = Construct("class_rebound", ClassRebound, kind="py-object guard")


@CONSTRUCT.change(values=2)
def rebind_class(module: ClassRebound, value: int) -> None:
    """Let the global name mean the other class, or the first."""
    global Chosen
    Chosen = (OtherGain, Gain)[value]


@CONSTRUCT.change(values=2)
def rebind_constructor(module: ClassRebound, value: int) -> None:
    """Give the first class another constructor."""
    factor = (1.0, 0.5)[value]

    def initialise(self: Gain) -> None:
        self.factor = factor

    Gain.__init__ = initialise  # type: ignore[method-assign]
