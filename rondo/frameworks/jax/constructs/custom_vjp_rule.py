"""custom_vjp_rule: the backward pass of a function, registered again between calls."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


def make_function(bound: float) -> Any:
    """Return the identity whose gradient is clipped to `bound`."""

    @jax.custom_vjp
    def function(x: Any) -> Any:
        return x * 1.0

    register(function, bound)
    return function


def register(function: Any, bound: float) -> None:
    """Register the backward pass of `function` anew."""

    def forward(x: Any) -> tuple[Any, None]:
        return x * 1.0, None

    def backward(_: None, gradient: Any) -> tuple[Any]:
        return (jnp.clip(gradient, -bound, bound),)

    function.defvjp(forward, backward)


class CustomVjpRule(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.function = make_function(10.0)

    def forward(self, hidden: Any) -> Any:
        return self.function(hidden)


CONSTRUCT = Construct("custom_vjp_rule", CustomVjpRule, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def register_again(module: CustomVjpRule, value: int) -> None:
    """Register another clip for the same function."""
    register(module.function, (0.1, 0.5, 10.0)[value])
