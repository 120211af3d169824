"""The eager arm: one operation at a time, no jit, and no trace of a user's function kept.

`jax.disable_jit()` runs control flow in Python and jitted functions as plain ones; every operation
is still a little program that XLA compiled, and `jax.clear_caches()`, which the eager arm needs
because some functions keep traces without jit, drops those programs too. Tracing and lowering
`a + b` again after every clear would take most of a campaign's time. So in this arm an operation's
executable is kept by all that it depends on: the primitive, its parameters (compared by equality,
jaxprs by identity), the abstract values of its arguments and the settings that tracing sees. No
function of the user's is part of that key but as a parameter, which the key then keeps alive.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np
from jax._src import config, dispatch

LARGEST_STORE = 16384
"""Operations; beyond it those that were used longest ago go."""

CALLBACK = "callback"
CHECKS = ("jax_debug_nans", "jax_debug_infs")


class _Mode(threading.local):
    eager = False


class OperationStore:
    """Stands in for `xla_primitive_callable(primitive, **params)`: the function that runs it."""

    def __init__(self, original: Callable[..., Any], *, largest: int = LARGEST_STORE) -> None:
        self.mode = _Mode()
        self._original = original
        self._largest = largest
        self._kept: OrderedDict[Any, Any] = OrderedDict()

    def __call__(self, primitive: Any, **params: Any) -> Callable[..., Any]:
        """Return what JAX itself would call, or in the eager arm what is kept here."""
        if not self.mode.eager or CALLBACK in primitive.name:
            function: Callable[..., Any] = self._original(primitive, **params)
            return function
        return partial(self._run, primitive, params)

    def _run(self, primitive: Any, params: dict[str, Any], *arguments: Any) -> Any:
        key = (
            primitive,
            tuple(sorted(params.items())),
            tuple(jax.typeof(argument) for argument in arguments),
            config.trace_context(),
        )
        try:
            compiled = self._kept.get(key)
        except TypeError:  # a parameter that cannot be hashed
            return self._original(primitive, **params)(*arguments)
        if compiled is None:
            compiled = self._original(primitive, **params).lower(*arguments).compile()
            self._kept[key] = compiled
            if len(self._kept) > self._largest:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return compiled(*arguments)


def forbidden_numbers() -> tuple[bool, bool]:
    """Return whether NaNs and whether infinities are forbidden by the debug flags."""
    return bool(jax.config.jax_debug_nans), bool(jax.config.jax_debug_infs)


def check_numbers(tree: Any, *, nans: bool, infs: bool) -> None:
    """Raise what JAX raises if a result holds what `jax_debug_nans` or `jax_debug_infs` forbid.

    Under jit both flags look at a function's results, without jit at every operation's. The eager
    arm looks where jit looks: which values are made on the way is the compiler's own business.
    """
    if not (nans or infs):
        return
    for leaf in jax.tree_util.tree_leaves(tree):
        if jax.numpy.issubdtype(getattr(leaf, "dtype", np.int32), jax.numpy.inexact):
            values = np.asarray(leaf)
            if (nans and np.isnan(values).any()) or (infs and np.isinf(values).any()):
                raise FloatingPointError("invalid value in a result")


def operation_store() -> OperationStore:
    """Return the store of this process, put in its place at the first call."""
    installed = dispatch.xla_primitive_callable
    if isinstance(installed, OperationStore):
        return installed
    store = OperationStore(installed)
    dispatch.xla_primitive_callable = store
    return store


@contextmanager
def eagerly() -> Iterator[None]:
    """Run what is inside without jit, one operation at a time."""
    mode = operation_store().mode
    before, mode.eager = mode.eager, True
    try:
        with jax.disable_jit(), unchecked_operations():
            yield
    finally:
        mode.eager = before


@contextmanager
def unchecked_operations() -> Iterator[None]:
    """Switch the checks of single operations off; `check_numbers` looks at the results instead.

    By `update` and not by `with jax.debug_nans(False)`, which JAX 0.10.2 does not undo: the thread
    keeps a hook of its own, under which later results of compiled calls go unchecked.
    """
    forbidden = [name for name in CHECKS if jax.config.values[name]]
    try:
        for name in forbidden:
            jax.config.update(name, False)
        yield
    finally:
        for name in forbidden:
            jax.config.update(name, True)
