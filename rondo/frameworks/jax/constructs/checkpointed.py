"""checkpointed: a function under jax.checkpoint that reads state assigned between calls."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Recomputed:
    """What is computed again in the backward pass."""

    def __init__(self) -> None:
        self.factor = 1.0
        self.apply = jax.checkpoint(self.compute)

    def compute(self, x: Any) -> Any:
        """Return sin(x * factor)."""
        return jnp.sin(x * self.factor)


class Checkpointed(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.recomputed = Recomputed()

    def forward(self, hidden: Any) -> Any:
        return self.recomputed.apply(hidden)


CONSTRUCT = Construct("checkpointed", Checkpointed, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def set_factor(module: Checkpointed, value: int) -> None:
    """Assign what the function reads."""
    module.recomputed.factor = (0.5, 2.0, 1.0)[value]
