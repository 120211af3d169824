"""signed_zero: 0.0 and -0.0 as a static argument: equal to Python, unequal to the forward."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from rondo.frameworks.jax.kinds import EQUALITY
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class SignedZero(Module):
    own_static = True

    def __init__(self, features: int) -> None:
        super().__init__()
        self.static_value = 0.0

    def forward(self, hidden: Any) -> Any:
        return hidden * jnp.copysign(jnp.ones((), hidden.dtype), self.static_value)


CONSTRUCT = Construct("signed_zero", SignedZero, kind=EQUALITY)


@CONSTRUCT.change(values=3)
def set_static(module: SignedZero, value: int) -> None:
    """Pass -0.0, a number that is not zero, or 0.0."""
    module.static_value = (-0.0, 1.0, 0.0)[value]
