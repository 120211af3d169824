"""closure_number: a function that closes over a number, which is rebound between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


def make_scale() -> tuple[Callable[[Any], Any], Callable[[float], None]]:
    """Return a function that scales by a number, and one that rebinds the number."""
    factor = 1.0

    def scale(x: Any) -> Any:
        return x * factor

    def rebind(value: float) -> None:
        nonlocal factor
        factor = value

    return scale, rebind


class ClosureNumber(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale, self.rebind = make_scale()

    def forward(self, hidden: Any) -> Any:
        return self.scale(hidden)


CONSTRUCT = Construct("closure_number", ClosureNumber, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def rebind(module: ClosureNumber, value: int) -> None:
    """Rebind the number in the closure."""
    module.rebind((0.5, 2.0, 1.0)[value])


@CONSTRUCT.change()
def new_closure(module: ClosureNumber, value: int) -> None:
    """Put a new closure in the place of the old one: another function, which JAX does see."""
    module.scale, module.rebind = make_scale()
    module.rebind(3.0)
