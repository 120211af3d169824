"""static_argument: a static argument of the outer jit: 1, True and 1.0 are three programs."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

VALUES: tuple[object, ...] = (True, 1.0, 0, False, 0.0, "one", None, 1)


def by_type(value: object) -> float:
    """Return a number that tells the type of `value` as well as its truth."""
    kinds = {bool: 1.0, int: 2.0, float: 3.0, str: 4.0}
    return kinds.get(type(value), 5.0) + (0.5 if value else 0.0)


class StaticArgument(Module):
    own_static = True

    def __init__(self, features: int) -> None:
        super().__init__()
        self.static_value: object = 1

    def forward(self, hidden: Any) -> Any:
        return hidden * by_type(self.static_value)


CONSTRUCT = Construct("static_argument", StaticArgument, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=len(VALUES))
def set_static(module: StaticArgument, value: int) -> None:
    """Pass another value: True, 1.0, 0, False, 0.0, a string, None, or 1 again."""
    module.static_value = VALUES[value]
