"""held_generator: a generator of the module that the forward resumes, and one made on each call."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from rondo.subjects.target import Construct


def alternating(amount: float) -> Iterator[float]:
    """Yield the amount with alternating signs, for ever."""
    while True:
        yield amount
        amount = -amount


class HeldGenerator(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.held = alternating(0.5)
        self.amounts = [0.25, -0.75]

    def steps(self) -> Iterator[float]:
        for amount in self.amounts:
            yield amount * 2

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + next(self.held)
        for step in self.steps():
            hidden = hidden.sin() + step
        return hidden


CONSTRUCT = Construct("held_generator", HeldGenerator, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def replace_held(module: HeldGenerator, value: int) -> None:
    """Hold another generator."""
    module.held = alternating((1.0, 0.5)[value])


@CONSTRUCT.change()
def resume(module: HeldGenerator, value: int) -> None:
    """Resume the held generator outside of the forward."""
    next(module.held)


@CONSTRUCT.change(values=3)
def set_amounts(module: HeldGenerator, value: int) -> None:
    """Set the amounts that the other generator walks through."""
    module.amounts = [[], [1.0], [0.25, -0.75]][value]
