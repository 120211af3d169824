"""The kinds of JAX constructs that `documented.py` gives a meaning to."""

from __future__ import annotations

CAPTURED = "captured state"
"""A trace reads it, and it is no argument of the function: against the rule of purity."""

SIDE_EFFECT = "side effect"
"""The forward changes it, and it is no result of the function: against the rule of purity."""

EQUALITY = "coarse equality"
"""A static argument or auxiliary data whose `__eq__` says less than what the forward reads."""

ARGUMENT = "argument"
"""An argument of the jitted function, traced or static: JAX promises to see it."""

STRUCTURE = "pytree structure"
"""The structure or auxiliary data of an argument: JAX promises to see it."""

SETTING = "setting"
"""A flag of JAX's own that tracing reads: JAX promises to see it."""

TRANSFORMATION = "transformation"
"""A transformation or control flow inside the function, on what JAX promises to see."""
