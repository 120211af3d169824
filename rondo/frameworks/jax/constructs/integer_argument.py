"""integer_argument: a Python integer that is traced, so that no value is baked in."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class IntegerArgument(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any, integer: Any) -> Any:
        picked = jnp.arange(self.features) == jnp.mod(integer, self.features)
        return jnp.where(picked, hidden, -hidden)


CONSTRUCT = Construct(
    "integer_argument",
    IntegerArgument,
    kind=ARGUMENT,
    inputs=(InputSpec("integer", kind="integer"),),
    guarded=True,
)
