"""array_field: an array of the model, replaced by others of other values, types and weakness."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class ArrayField(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale = jnp.asarray(np.float32(1.0))

    def forward(self, hidden: Any) -> Any:
        return hidden * self.scale


CONSTRUCT = Construct("array_field", ArrayField, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=5)
def set_scale(module: ArrayField, value: int) -> None:
    """Put another array in its place: other values, weakly typed, half precision, an integer."""
    module.scale = (
        jnp.asarray(np.float32(0.5)),
        jnp.asarray(2.0),
        jnp.asarray(2.0, jnp.bfloat16),
        jnp.asarray(np.int32(2)),
        jnp.asarray(np.float32(1.0)),
    )[value]
