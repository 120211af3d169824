"""scan_body: the body of a scan is one function that reads state, kept by JAX without any jit."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Body:
    """A scan body with a factor."""

    def __init__(self) -> None:
        self.factor = 1.0

    def step(self, carry: Any, _: Any) -> tuple[Any, Any]:
        """Decay the carry."""
        carry = carry * (0.5 * self.factor)
        return carry, jnp.sum(carry)


class ScanBody(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.body = Body()
        self.step = self.body.step

    def forward(self, hidden: Any) -> Any:
        last, sums = jax.lax.scan(self.step, hidden, None, length=3)
        return last, sums


CONSTRUCT = Construct("scan_body", ScanBody, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def set_factor(module: ScanBody, value: int) -> None:
    """Assign what the body reads."""
    module.body.factor = (0.5, 2.0, 1.0)[value]
