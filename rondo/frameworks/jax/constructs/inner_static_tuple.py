"""inner_static_tuple: an inner jit whose static tuple changes types while its values stay equal."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax

from rondo.frameworks.jax.constructs.static_argument import by_type
from rondo.frameworks.jax.kinds import TRANSFORMATION
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

VALUES: tuple[tuple[object, ...], ...] = ((True,), (1.0,), (2,), (1,))


@partial(jax.jit, static_argnums=1)
def scale(x: Any, values: tuple[object, ...]) -> Any:
    """Return x times a number that tells the types of `values`."""
    for value in values:
        x = x * by_type(value)
    return x


class InnerStaticTuple(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.values: tuple[object, ...] = (1,)

    def forward(self, hidden: Any) -> Any:
        return scale(hidden, self.values)


CONSTRUCT = Construct("inner_static_tuple", InnerStaticTuple, kind=TRANSFORMATION)


@CONSTRUCT.change(values=len(VALUES))
def set_values(module: InnerStaticTuple, value: int) -> None:
    """Pass (True,), (1.0,), (2,) or (1,)."""
    module.values = VALUES[value]
