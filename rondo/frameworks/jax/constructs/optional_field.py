"""optional_field: an array of the model that may be None, and a flag that ignores it."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from rondo.frameworks.jax.kinds import STRUCTURE
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class OptionalField(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.bias: Any = jnp.asarray(np.float32(0.5))
        self.used = True

    def forward(self, hidden: Any) -> Any:
        if self.bias is None:
            return hidden * 2.0
        return hidden + self.bias.astype(hidden.dtype) if self.used else hidden


CONSTRUCT = Construct("optional_field", OptionalField, kind=STRUCTURE, guarded=True)


@CONSTRUCT.change(values=3)
def set_bias(module: OptionalField, value: int) -> None:
    """Remove the array, put one of another value or the usual one."""
    module.bias = (None, jnp.asarray(np.float32(-1.0)), jnp.asarray(np.float32(0.5)))[value]


@CONSTRUCT.change(values=2)
def set_used(module: OptionalField, value: int) -> None:
    """Ignore the array, or use it."""
    module.used = (False, True)[value]
