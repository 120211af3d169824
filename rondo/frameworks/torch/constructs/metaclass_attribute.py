"""metaclass_attribute: a number and an instance check that a class has from its metaclass.

A class is looked through first and its metaclass last, as an instance is and its class. The classes
are made anew for each module, so that no module changes another one's.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from rondo.subjects.target import Construct


def fresh_class() -> Any:
    """Return a class of a metaclass of its own, with a virtual subclass check."""

    class Meta(type):
        gain = 0.5

        def __instancecheck__(cls, instance: object) -> bool:
            return True

    class Family(metaclass=Meta):
        pass

    return Family


class MetaclassAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.family = fresh_class()
        self.member = object

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden * self.family.gain
        return hidden + 1 if isinstance(self.member, self.family) else hidden - 1


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


@CONSTRUCT.change(values=2)
def rebind_check(module: MetaclassAttribute, value: int) -> None:
    """Let the metaclass say of instances that they are none, or that they are."""
    answer = value == 1
    type(module.family).__instancecheck__ = lambda cls, instance: answer
