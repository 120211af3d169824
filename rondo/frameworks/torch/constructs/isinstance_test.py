"""isinstance_test: branches on the type of a held object, whose `__class__` is assigned."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Shift:
    """The class at first."""

    amount = 0.5


class Scale(Shift):
    """A subclass: it passes the first test and fails the second."""

    amount = 0.25


class Other:
    """A class unrelated to the two."""

    amount = 0.75


class IsinstanceTest(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.operation: Shift | Other = Shift()

    def forward(self, hidden: Tensor) -> Tensor:
        if isinstance(self.operation, Shift):
            hidden = hidden + self.operation.amount
        if type(self.operation) is Shift:
            hidden = hidden * 0.5
        return hidden


CONSTRUCT = Construct("isinstance_test", IsinstanceTest, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def assign_class(module: IsinstanceTest, value: int) -> None:
    """Assign the `__class__` of the held object."""
    module.operation.__class__ = (Scale, Other, Shift)[value]


@CONSTRUCT.change(values=3)
def replace_operation(module: IsinstanceTest, value: int) -> None:
    """Hold an object of another class."""
    module.operation = (Scale(), Other(), Shift())[value]
