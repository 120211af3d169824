"""static_tuple: a static argument that is a tuple: (1,), (True,) and (1.0,) are three programs."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.constructs.static_argument import by_type
from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

VALUES: tuple[tuple[object, ...], ...] = ((2,), (True,), (1.0,), (0,), (False,), (1, 2), (1,))


class StaticTuple(Module):
    own_static = True

    def __init__(self, features: int) -> None:
        super().__init__()
        self.static_value: tuple[object, ...] = (1,)

    def forward(self, hidden: Any) -> Any:
        for value in self.static_value:
            hidden = hidden * by_type(value)
        return hidden


CONSTRUCT = Construct("static_tuple", StaticTuple, kind=ARGUMENT)


@CONSTRUCT.change(values=len(VALUES))
def set_static(module: StaticTuple, value: int) -> None:
    """Pass another tuple: of another value, another type of an equal value, another length."""
    module.static_value = VALUES[value]
