"""grad_inside: a gradient taken inside the forward, of a function chosen by a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import TRANSFORMATION
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

POTENTIALS: dict[str, Callable[[Any], Any]] = {
    "square": lambda x: jnp.sum(x * x),
    "cosine": lambda x: jnp.sum(jnp.cos(x)),
}


class GradInside(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.potential = "square"

    def forward(self, hidden: Any) -> Any:
        return hidden - 0.25 * jax.grad(POTENTIALS[self.potential])(hidden)


CONSTRUCT = Construct("grad_inside", GradInside, kind=TRANSFORMATION, guarded=True)


@CONSTRUCT.change(values=2)
def set_potential(module: GradInside, value: int) -> None:
    """Descend another potential."""
    module.potential = ("cosine", "square")[value]
