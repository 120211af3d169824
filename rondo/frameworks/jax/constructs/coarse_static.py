"""coarse_static: a static argument that compares by its name alone while the forward reads more."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.kinds import EQUALITY
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Named:
    """Equal to whatever has the same name."""

    def __init__(self, name: str, factor: float) -> None:
        self.name = name
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class CoarseStatic(Module):
    own_static = True

    def __init__(self, features: int) -> None:
        super().__init__()
        self.static_value = Named("usual", 1.0)

    def forward(self, hidden: Any) -> Any:
        return hidden * self.static_value.factor


CONSTRUCT = Construct("coarse_static", CoarseStatic, kind=EQUALITY)


@CONSTRUCT.change(values=3)
def set_static(module: CoarseStatic, value: int) -> None:
    """Pass an object of the same name and another factor, of another name, or the usual one."""
    module.static_value = (Named("usual", 2.0), Named("other", 0.5), Named("usual", 1.0))[value]


@CONSTRUCT.change(values=2)
def mutate(module: CoarseStatic, value: int) -> None:
    """Change the factor of the object that was passed before."""
    module.static_value.factor = (3.0, 1.0)[value]
