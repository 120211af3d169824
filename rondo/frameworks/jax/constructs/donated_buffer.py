"""donated_buffer: a running sum that every call reads and replaces; mode donate gives it away."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class DonatedBuffer(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.rate = 0.5
        self.add_buffer("total", (features,))

    def forward(self, hidden: Any) -> Any:
        total = self.total
        axes = tuple(range(hidden.ndim - 1))
        self.set_buffer("total", total * self.rate + jnp.mean(hidden, axes).astype(total.dtype))
        return hidden + total.astype(hidden.dtype), total * 2.0


CONSTRUCT = Construct("donated_buffer", DonatedBuffer, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=3)
def set_rate(module: DonatedBuffer, value: int) -> None:
    """Forget faster, not at all, or as usual."""
    module.rate = (0.0, 1.0, 0.5)[value]


@CONSTRUCT.change()
def reset_total(module: DonatedBuffer, value: int) -> None:
    """Put zeros in the buffer's place."""
    module.set_buffer("total", jnp.zeros_like(module.total))
