"""global_function: a function of the file, called by its global name and rebound later."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from rondo.subjects.target import Construct


def sine(hidden: Tensor) -> Tensor:
    """Return the sine."""
    return hidden.sin()


def bump(hidden: Tensor) -> Tensor:
    """Return a bump around zero."""
    return 1 / (1 + hidden.square())


activation: Callable[[Tensor], Tensor] = sine


class GlobalFunction(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Tensor) -> Tensor:
        return activation(hidden) - 0.25


CONSTRUCT = Construct("global_function", GlobalFunction, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=4)
def rebind(module: GlobalFunction, value: int) -> None:
    """Let the global name mean another function."""
    global activation
    activation = (bump, lambda hidden: hidden * 0.5, nn.Tanh(), sine)[value]


@CONSTRUCT.change(values=2)
def swap_code(module: GlobalFunction, value: int) -> None:
    """Give the first function the code of another one, or of itself as it was defined."""
    donor = (lambda hidden: hidden.cos(), lambda hidden: hidden.sin())[value]
    sine.__code__ = donor.__code__
