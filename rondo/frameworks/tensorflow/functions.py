"""Every tf.function of this process, known weakly: what is watched, and what a reset empties.

TensorFlow keeps no list of its functions and has no public call that drops their traces. A
construct may hold a decorated method, Keras makes functions of its own, and a trace may be nested
inside another one; so the one place that all of them pass, `Function.__init__`, notes each in a
weak set. Nothing else about them is touched.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import polymorphic_function

_functions: weakref.WeakSet[Any] = weakref.WeakSet()


def follow_functions() -> None:
    """Note every tf.function that is made from now on. Idempotent."""
    original = polymorphic_function.Function.__init__
    if hasattr(original, "followed"):
        return

    @functools.wraps(original)
    def noting(self: Any, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        _functions.add(self)

    noting.followed = True  # type: ignore[attr-defined]
    polymorphic_function.Function.__init__ = noting


def all_functions() -> list[Any]:
    """Return every living tf.function, in an order that follows from names and trace counts."""
    # A weak set has no order; ties are functions of one name, whose labels do not tell them apart.
    return sorted(_functions, key=lambda function: (function.name, len(function._function_cache)))


def forget_traces(function: Any) -> None:
    """Make a tf.function as it was before its first call."""
    function._function_cache.clear()
    # The captures belong to the traces; one that stays would be an input of the next trace.
    function._function_captures = type(function._function_captures)()
    function._created_variables = None
    function._variable_creation_config = None
    function._no_variable_creation_config = None
    function._descriptor_cache.clear()
    function.__dict__.pop("_concrete_variable_creation_fn", None)


def reset_functions() -> None:
    """Drop what tf.function keeps in this process: the traces of every living function.

    Methods' and Keras's own included, since a new wrapper around the outermost function would leave
    those inside of it. Two things stay, each for a reason:

    1. the kernels of eager operations: generators of random numbers live in them, and those are
       program state;
    2. functions that AutoGraph converted. A conversion is a function of a code object and its
       source, takes longer than tracing, and lies below the caches under test as built kernels do.
       The fresh arm, which has none, would tell if one were wrong.
    """
    for function in list(_functions):
        forget_traces(function)


def runs_eagerly() -> bool:
    """Whether `tf.config.run_functions_eagerly` is on: each call then runs the Python function."""
    return bool(polymorphic_function.eager_function_run.RUN_FUNCTIONS_EAGERLY)


def has_context() -> bool:
    """Whether TensorFlow has started its threads, after which this process may not be forked."""
    return context.context()._context_handle is not None
