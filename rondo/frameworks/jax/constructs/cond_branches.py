"""cond_branches: a branch function reads state that is assigned between calls."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Branches:
    """Two branches, of which one reads an amount."""

    def __init__(self) -> None:
        self.amount = 1.0

    def positive(self, x: Any) -> Any:
        """Return x + amount."""
        return x + self.amount

    def negative(self, x: Any) -> Any:
        """Return x - amount."""
        return x - self.amount


class CondBranches(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.branches = Branches()
        self.positive = self.branches.positive
        self.negative = self.branches.negative

    def forward(self, hidden: Any) -> Any:
        return jax.lax.cond(jnp.sum(hidden) > 0, self.positive, self.negative, hidden)


CONSTRUCT = Construct("cond_branches", CondBranches, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def set_amount(module: CondBranches, value: int) -> None:
    """Assign what the branches read."""
    module.branches.amount = (0.0, -2.0, 1.0)[value]
