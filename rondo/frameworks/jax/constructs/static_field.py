"""static_field: a float that the forward reads, kept in the model's auxiliary data."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.kinds import STRUCTURE
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class StaticField(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0

    def forward(self, hidden: Any) -> Any:
        return hidden * self.factor


CONSTRUCT = Construct("static_field", StaticField, kind=STRUCTURE, guarded=True)


@CONSTRUCT.change(values=5)
def set_factor(module: StaticField, value: int) -> None:
    """Give the factor another value, or another type of the same value."""
    module.factor = (0.5, 2.0, 0.0, True, 1.0)[value]
