"""held_iterator: iterators that live on the module and yield one more value on each call."""

from __future__ import annotations

import itertools

from torch import Tensor, nn

from rondo.subjects.target import Construct

AMOUNTS = (0.25, -0.5, 0.75, 1.0)


class HeldIterator(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.amounts = iter(list(AMOUNTS))
        self.numbers = itertools.count(1)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + next(self.amounts, 0.0) + next(self.numbers) / 8


CONSTRUCT = Construct("held_iterator", HeldIterator, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def restart(module: HeldIterator, value: int) -> None:
    """Begin the amounts anew, reversed or as at first."""
    module.amounts = iter(list(AMOUNTS[:: (-1, 1)[value]]))


@CONSTRUCT.change()
def advance(module: HeldIterator, value: int) -> None:
    """Take one number outside of the forward."""
    next(module.numbers)


@CONSTRUCT.change(values=2)
def restart_numbers(module: HeldIterator, value: int) -> None:
    """Count from another number on."""
    module.numbers = itertools.count((5, 1)[value])
