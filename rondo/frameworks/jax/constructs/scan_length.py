"""scan_length: a scan whose length, direction and unrolling are attributes of the model."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import TRANSFORMATION
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


def step(carry: Any, x: Any) -> tuple[Any, Any]:
    """Decay the carry and add to it."""
    carry = carry * 0.5 + x
    return carry, jnp.sum(carry)


class ScanLength(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.length = 3
        self.backwards = False
        self.unroll = 1

    def forward(self, hidden: Any) -> Any:
        weights = jnp.arange(self.length).astype(hidden.dtype)
        return jax.lax.scan(
            step, hidden, weights, reverse=self.backwards, unroll=min(self.unroll, self.length)
        )


CONSTRUCT = Construct("scan_length", ScanLength, kind=TRANSFORMATION, guarded=True)


@CONSTRUCT.change(values=3)
def set_length(module: ScanLength, value: int) -> None:
    """Scan over one, two or three weights."""
    module.length = (1, 2, 3)[value]


@CONSTRUCT.change(values=2)
def set_backwards(module: ScanLength, value: int) -> None:
    """Scan from the end, or from the beginning."""
    module.backwards = (True, False)[value]


@CONSTRUCT.change(values=2)
def set_unroll(module: ScanLength, value: int) -> None:
    """Unroll two steps, or none."""
    module.unroll = (2, 1)[value]
