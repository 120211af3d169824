"""weak_type: a Python number as an argument, which takes the type of what it meets."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class WeakType(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.strong = False

    def forward(self, hidden: Any, number: Any) -> Any:
        half = hidden.astype(jnp.bfloat16)
        amount = jnp.asarray(number, jnp.float32) if self.strong else number
        return hidden + (half * amount).astype(hidden.dtype)


CONSTRUCT = Construct(
    "weak_type",
    WeakType,
    kind=ARGUMENT,
    inputs=(InputSpec("number", kind="number"),),
    guarded=True,
)


@CONSTRUCT.change(values=2)
def set_strong(module: WeakType, value: int) -> None:
    """Give the number a type of its own first, or leave it weak."""
    module.strong = (True, False)[value]
