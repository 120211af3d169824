"""inner_jit: a jitted function of the module, called inside with a static power of its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax

from rondo.frameworks.jax.kinds import TRANSFORMATION
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


@partial(jax.jit, static_argnames="power")
def raise_to(x: Any, power: int) -> Any:
    """Return x ** power, multiplied out."""
    result = x
    for _ in range(power - 1):
        result = result * x
    return result


class InnerJit(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.power = 2

    def forward(self, hidden: Any) -> Any:
        return raise_to(hidden, power=self.power)


CONSTRUCT = Construct("inner_jit", InnerJit, kind=TRANSFORMATION, guarded=True)


@CONSTRUCT.change(values=3)
def set_power(module: InnerJit, value: int) -> None:
    """Raise to another power."""
    module.power = (3, 1, 2)[value]
