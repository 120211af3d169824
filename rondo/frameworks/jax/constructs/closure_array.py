"""closure_array: a jitted function inside closes over an array, which is replaced between calls."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Table:
    """Holds the array outside of the model."""

    def __init__(self, features: int) -> None:
        self.array = jnp.asarray(np.linspace(0.5, 1.5, features, dtype=np.float32))
        self.apply = jax.jit(lambda x: x + self.array.astype(x.dtype))


class ClosureArray(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.table = Table(features)

    def forward(self, hidden: Any) -> Any:
        return self.table.apply(hidden)


CONSTRUCT = Construct("closure_array", ClosureArray, kind=CAPTURED)


@CONSTRUCT.change(values=2)
def replace_array(module: ClosureArray, value: int) -> None:
    """Put another array in the place of the one that the function reads."""
    held = np.asarray(module.table.array)
    module.table.array = jnp.asarray(held * np.float32((2.0, 0.5)[value]))
