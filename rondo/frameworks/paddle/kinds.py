"""The kinds of Paddle constructs: what the thing that a forward reads is to `to_static`.

Bytecode capture promises to guard whatever it read, so there a stale result of any kind is a fault.
Whole-graph capture runs the Python code once for each signature and says so: what a construct of
one of the `BAKED` kinds reads is kept by design.
"""

from __future__ import annotations

ARGUMENT = "argument"
"""An argument of the compiled function: both modes promise to see it."""

ATTRIBUTE = "attribute"
"""A Python attribute of a layer of the user's own."""

BUILTIN = "built-in layer"
"""An attribute, a hook or a parameter of a layer that comes with Paddle."""

PARAMETER = "parameter"
"""A parameter or buffer: put in place of another, frozen, shared, or written."""

NAME = "name"
"""A global, a closure, a default or a class attribute that the code names."""

CONTAINER = "container"
"""A list, dict or set of layers or numbers."""

SIDE_EFFECT = "side effect"
"""Python state that the forward changes."""

SETTING = "setting"
"""Paddle's own global state, such as the default dtype: it is in no signature and in few guards."""

CONTROL_FLOW = "control flow"
"""Branches and loops on tensors, on shapes or on Python values."""

RANDOM = "random state"
"""Draws of Paddle's generator."""

BAKED_CHANGE = "change of what a trace has read"
"""The kind of those changes to any program that `BAKED_CHANGES` names."""

BAKED_CHANGES = frozenset({"replace_parameters", "freeze", "add_hook", "remove_hooks"})
"""The changes of the target `program` that change what whole-graph capture has read."""

BAKED = frozenset({ATTRIBUTE, BUILTIN, PARAMETER, NAME, CONTAINER, BAKED_CHANGE, "architecture"})
"""What whole-graph capture reads once and keeps, as its documentation says."""
