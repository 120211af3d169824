"""vmap_inside: a function mapped over the batch, along a settable axis."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import TRANSFORMATION
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


def centred(x: Any) -> Any:
    """Return x without its mean."""
    return x - jnp.mean(x)


class VmapInside(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.axis = 0

    def forward(self, hidden: Any) -> Any:
        return jax.vmap(centred, self.axis, self.axis)(hidden)


CONSTRUCT = Construct("vmap_inside", VmapInside, kind=TRANSFORMATION, guarded=True)


@CONSTRUCT.change(values=2)
def set_axis(module: VmapInside, value: int) -> None:
    """Map over the last axis, or over the first."""
    module.axis = (-1, 0)[value]
