"""custom_jvp_rule: the derivative of a function, registered again between calls."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


def make_function(factor: float) -> Any:
    """Return sin with a derivative of its own, scaled by `factor`."""

    @jax.custom_jvp
    def function(x: Any) -> Any:
        return jnp.sin(x)

    register(function, factor)
    return function


def register(function: Any, factor: float) -> None:
    """Register the derivative of `function` anew."""

    def rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        (x,), (tangent,) = primals, tangents
        return jnp.sin(x), jnp.cos(x) * tangent * factor

    function.defjvp(rule)


class CustomJvpRule(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.function = make_function(1.0)

    def forward(self, hidden: Any) -> Any:
        return self.function(hidden)


CONSTRUCT = Construct("custom_jvp_rule", CustomJvpRule, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def register_again(module: CustomJvpRule, value: int) -> None:
    """Register another derivative for the same function."""
    register(module.function, (0.5, 2.0, 1.0)[value])


@CONSTRUCT.change()
def new_function(module: CustomJvpRule, value: int) -> None:
    """Use a new function with another derivative, which JAX does see."""
    module.function = make_function(3.0)
