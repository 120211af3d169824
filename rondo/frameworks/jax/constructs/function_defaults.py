"""function_defaults: a helper's default argument, replaced between calls."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


def shift(x: Any, amount: float = 0.0) -> Any:
    """Return x + amount."""
    return x + amount


class FunctionDefaults(Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any) -> Any:
        return shift(hidden)


CONSTRUCT = Construct("function_defaults", FunctionDefaults, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def set_defaults(module: FunctionDefaults, value: int) -> None:
    """Give the helper another default."""
    shift.__defaults__ = ((1.0,), (-0.5,), (0.0,))[value]
