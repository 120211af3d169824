"""reduce_function: lax.reduce with a named function that reads state, cached without any jit."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Combiner:
    """a + b + weight * a * b: commutative, associative, with zero as its neutral element."""

    def __init__(self) -> None:
        self.weight = 0.5
        self.combine = self.apply

    def apply(self, a: Any, b: Any) -> Any:
        """Combine two values."""
        return a + b + self.weight * a * b


class ReduceFunction(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.combiner = Combiner()

    def forward(self, hidden: Any) -> Any:
        zero = jnp.zeros((), hidden.dtype)
        axis = (hidden.ndim - 1,)
        if hidden.shape[-1] < 2:
            return hidden
        pair = hidden[..., :2]
        most = jax.lax.reduce(pair, zero, self.combiner.combine, axis)
        return hidden + most[..., None]


CONSTRUCT = Construct("reduce_function", ReduceFunction, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def set_weight(module: ReduceFunction, value: int) -> None:
    """Assign what the combination reads."""
    module.combiner.weight = (2.0, -1.0, 0.5)[value]
