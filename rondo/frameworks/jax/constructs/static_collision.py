"""static_collision: static arguments of one hash that are not equal."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Key:
    """Compares by its number and hashes to one value whatever that is."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.number == other.number

    def __hash__(self) -> int:
        return 7


class StaticCollision(Module):
    own_static = True

    def __init__(self, features: int) -> None:
        super().__init__()
        self.static_value = Key(1)

    def forward(self, hidden: Any) -> Any:
        return hidden * float(self.static_value.number)


CONSTRUCT = Construct("static_collision", StaticCollision, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=3)
def set_static(module: StaticCollision, value: int) -> None:
    """Pass a key of another number and the same hash."""
    module.static_value = Key((2, -3, 1)[value])
