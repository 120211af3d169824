"""static_self: a method jitted with a static self, whose attributes are assigned between calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Scaler:
    """Hashed by identity, as every class without `__eq__` is."""

    def __init__(self) -> None:
        self.factor = 1.0

    @partial(jax.jit, static_argnums=0)
    def apply(self, x: Any) -> Any:
        """Return x * factor."""
        return x * self.factor


class StaticSelf(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.scaler = Scaler()

    def forward(self, hidden: Any) -> Any:
        return self.scaler.apply(hidden)


CONSTRUCT = Construct("static_self", StaticSelf, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def set_factor(module: StaticSelf, value: int) -> None:
    """Assign the attribute of the same object."""
    module.scaler.factor = (0.5, 2.0, 1.0)[value]


@CONSTRUCT.change()
def new_object(module: StaticSelf, value: int) -> None:
    """Use a new object with another factor: another static argument, which JAX does see."""
    module.scaler = Scaler()
    module.scaler.factor = 3.0
