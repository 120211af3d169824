"""class_attribute: numbers on a class and on its base, read through the class and an instance.

A lookup walks the instance, the class and the bases in order, so a value may change by an edit at
any of these places, and an attribute added nearer hides one that stays where it was.
"""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Defaults:
    """The base class, where the shift lives at first."""

    shift = 0.25


class Knobs(Defaults):
    """The class that is read."""

    gain = 0.5


class ClassAttribute(nn.Module):
    slope = 1.0

    def __init__(self, features: int) -> None:
        super().__init__()
        self.knobs = Knobs()

    def forward(self, hidden: Tensor) -> Tensor:
        return (hidden * Knobs.gain + self.knobs.shift) * self.slope


CONSTRUCT = Construct("class_attribute", ClassAttribute, kind="py-object guard")


@CONSTRUCT.change(values=3)
def set_gain(module: ClassAttribute, value: int) -> None:
    """Set the number that is read through the class."""
    Knobs.gain = (-0.5, 1, 0.5)[value]


@CONSTRUCT.change(values=3)
def set_base_shift(module: ClassAttribute, value: int) -> None:
    """Set the number of the base class that is read through an instance."""
    Defaults.shift = (1.0, -0.75, 0.25)[value]


@CONSTRUCT.change(values=2)
def hide_shift(module: ClassAttribute, value: int) -> None:
    """Define the base's number on the class too, or take it away there."""
    if value == 0:
        Knobs.shift = 2.0
    elif "shift" in vars(Knobs):
        del Knobs.shift


@CONSTRUCT.change(values=2)
def set_instance_shift(module: ClassAttribute, value: int) -> None:
    """Hide the class's number on the instance, or take that away."""
    module.knobs.__dict__.pop("shift", None)
    if value == 0:
        module.knobs.shift = -2.0


@CONSTRUCT.change(values=2)
def set_slope(module: ClassAttribute, value: int) -> None:
    """Set the number on the class of the module itself."""
    ClassAttribute.slope = (-1.0, 1.0)[value]
