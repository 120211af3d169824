"""function_defaults: default arguments, positional and keyword-only, replaced on the function.

Functions made by one factory share a code object and differ in their defaults only, and the
defaults of a function can be assigned. Neither shows in the code that a cache entry hangs on.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from rondo.subjects.target import Construct


def shift(hidden: Tensor, amount: float = 0.5, *, factor: float = 1.0) -> Tensor:
    """Scale and shift by the defaults."""
    return hidden * factor + amount


def shifted_by(amount: float) -> Callable[[Tensor], Tensor]:
    """Return a function that has `amount` as a default."""

    def inner(hidden: Tensor, amount: float = amount) -> Tensor:
        return hidden.sin() + amount

    return inner


class FunctionDefaults(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.inner = shifted_by(0.25)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.inner(shift(hidden))


CONSTRUCT = Construct("function_defaults", FunctionDefaults, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_defaults(module: FunctionDefaults, value: int) -> None:
    """Assign other positional defaults to the global function."""
    shift.__defaults__ = ((-0.5,), (2,), (0.5,))[value]


@CONSTRUCT.change(values=3)
def set_keyword_defaults(module: FunctionDefaults, value: int) -> None:
    """Assign other keyword defaults to the global function."""
    shift.__kwdefaults__ = {"factor": (0.5, -1.0, 1.0)[value]}


@CONSTRUCT.change(values=3)
def edit_keyword_defaults(module: FunctionDefaults, value: int) -> None:
    """Edit the dict of keyword defaults in place."""
    assert shift.__kwdefaults__ is not None
    shift.__kwdefaults__ = dict(shift.__kwdefaults__)
    shift.__kwdefaults__["factor"] = (0.5, -1.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def set_inner_defaults(module: FunctionDefaults, value: int) -> None:
    """Assign other defaults to the held function."""
    module.inner.__defaults__ = ((-0.75,), (0.25,))[value]


@CONSTRUCT.change(values=2)
def replace_inner(module: FunctionDefaults, value: int) -> None:
    """Hold another function of the same code."""
    module.inner = shifted_by((0.75, 0.25)[value])
