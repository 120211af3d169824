"""metaclass_attribute: a number that a class has from its metaclass.

A class is looked through first and its metaclass last, as an instance is and its class. The classes
are made anew for each module, so that no module changes another one's.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from rondo.subjects.target import Construct


def fresh_class() -> Any:
    """Return a class of a metaclass of its own, which defines a number."""

    class Meta(type):
        gain = 0.5

    class Family(metaclass=Meta):
        pass

    return Family


class MetaclassAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.family = fresh_class()

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * self.family.gain


CONSTRUCT = Construct("metaclass_attribute", MetaclassAttribute, kind="py-object guard")


@CONSTRUCT.change(values=2)
def set_gain(module: MetaclassAttribute, value: int) -> None:
    """Set the number of the metaclass."""
    type(module.family).gain = (2.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def hide_gain(module: MetaclassAttribute, value: int) -> None:
    """Define the metaclass's number on the class too, or take it away there."""
    if value == 0:
        module.family.gain = -1.0
    elif "gain" in vars(module.family):
        del module.family.gain
