"""Trace and compile events as readable labels that are equal in every process.

Read before and after each call from what tf.function keeps anyway - its traces by context and
function type, the gradient functions of each trace - and from XLA's own log (`xla_log`). Names of
graphs and functions, ids and times are left out; counts become buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorflow.core.function.polymorphism import function_type as function_types
from tensorflow.core.function.trace_type import default_types
from tensorflow.python.framework import tensor as tensors

from rondo.frameworks.base import CallEvents
from rondo.frameworks.shared.labels import bucket
from rondo.frameworks.tensorflow.functions import all_functions, runs_eagerly
from rondo.frameworks.tensorflow.xla_log import XlaLog

Key = tuple[Any, Any]


class Watcher:
    """Collects what TensorFlow traced and XLA compiled between `begin` and `end`."""

    def __init__(self, log: XlaLog) -> None:
        self._log = log
        self._keys: dict[int, list[Key]] = {}
        self._gradients: dict[int, int] = {}

    def begin(self) -> None:
        """Take the state from which the next `end` counts."""
        self._log.take()
        functions = all_functions()
        self._keys = {id(function): keys_of(function) for function in functions}
        self._gradients = {
            id(trace): gradients_of(trace)
            for function in functions
            for trace in traces_of(function)
        }

    def end(self) -> CallEvents:
        """Return the events since `begin`."""
        labels: list[str] = []
        compiled, traced = False, 0
        for function in all_functions():
            keys = keys_of(function)
            compiled = compiled or bool(keys)
            before = self._keys.get(id(function), [])
            for key in keys:
                if key not in before:
                    traced += 1
                    labels += list(trace_labels(function, key, before))
            if len(keys) != len(before):
                labels.append(f"traces {name_of(function)} {bucket(len(keys))}")
            labels += list(self._gradient_labels(function))
        events = self._log.take()
        labels += events.labels
        # With `run_functions_eagerly` the Python function is called whatever has been traced.
        compiled = compiled and not runs_eagerly()
        return CallEvents(tuple(dict.fromkeys(labels)), compiled, traced + events.compilations)

    def _gradient_labels(self, function: Any) -> Iterator[str]:
        for trace in traces_of(function):
            now = gradients_of(trace)
            if now > self._gradients.get(id(trace), 0):
                yield f"gradient {name_of(function)} {bucket(now)}"


def name_of(function: Any) -> str:
    """Return a function's Python name."""
    return str(function.name).split(".")[-1]


def keys_of(function: Any) -> list[Key]:
    """Return the keys of a function's traces, oldest first."""
    return list(function._function_cache._primary)


def traces_of(function: Any) -> list[Any]:
    """Return a function's traces, oldest first."""
    return list(function._function_cache.values())


def gradients_of(trace: Any) -> int:
    """Return how many forward functions for gradients a trace has."""
    return len(trace._first_order_tape_functions) + len(trace._higher_order_tape_functions)


def trace_labels(function: Any, key: Key, before: list[Key]) -> Iterator[str]:
    """Yield the labels of a new trace: why it was made and what came out."""
    name = name_of(function)
    if not before:
        yield f"trace {name}: first"
    else:
        for reason in reasons(key, before[-1]):
            yield f"recompile {name}: {reason}"
    trace = function._function_cache._primary[key]
    graph = trace.graph
    operations = graph.get_operations()
    yield (
        f"graph {name} ops={bucket(len(operations))} inputs={bucket(len(graph.inputs))}"
        f" captures={bucket(len(graph.captures))} outputs={bucket(len(graph.outputs))}"
        f" functions={bucket(len(graph._functions))}"
    )
    if not graph.captures:
        yield f"graph {name} captures nothing"
    if any(None in shape for shape in known_shapes(graph.inputs)):
        yield f"graph {name} generalised"
    for kind in sorted({operation.type for operation in operations}):
        yield f"op {kind}"


def known_shapes(graph_inputs: Any) -> Iterator[list[Any]]:
    """Yield the shapes of the inputs whose rank is known."""
    for tensor in graph_inputs:
        if tensor.shape.rank is not None:
            yield tensor.shape.as_list()


def reasons(key: Key, previous: Key) -> Iterator[str]:
    """Yield what differs between the key of a new trace and that of the one before it."""
    (context, new), (old_context, old) = key, previous
    found = False
    if context != old_context:
        found = True
        yield from context_reasons(context, old_context)
    names = dict.fromkeys((*new.parameters, *old.parameters))
    for name in names:
        first, second = constraint(new, name), constraint(old, name)
        if first != second:
            found = True
            yield from sorted(set(differences(first, second)))
    if not found:
        yield "captures" if new.captures != old.captures else "nothing that the key shows"


def context_reasons(context: Any, old: Any) -> Iterator[str]:
    """Yield which parts of the function context differ."""
    if context.scope_type != old.scope_type:
        yield f"scope {context.scope_type.name if context.scope_type else 'none'}"
    for field in context.context._fields:
        if getattr(context.context, field) != getattr(old.context, field):
            yield f"context {field}"


def constraint(function_type: function_types.FunctionType, name: str) -> Any:
    """Return the trace type of a parameter, or None."""
    parameter = function_type.parameters.get(name)
    return None if parameter is None else parameter.type_constraint


def differences(new: Any, old: Any) -> Iterator[str]:
    """Yield in what kind two trace types differ, inside of structures too."""
    if type(new) is not type(old):
        yield f"{type(old).__name__} to {type(new).__name__}"
    elif isinstance(new, (default_types.Tuple, default_types.List)):
        parts, others = components(new), components(old)
        if len(parts) != len(others):
            yield f"{type(new).__name__} length"
        for part, other in zip(parts, others, strict=False):
            if part != other:
                yield from differences(part, other)
    elif isinstance(new, default_types.Dict):
        if list(new.mapping) != list(old.mapping):
            yield "Dict keys"
        for entry in new.mapping:
            if entry in old.mapping and new.mapping[entry] != old.mapping[entry]:
                yield from differences(new.mapping[entry], old.mapping[entry])
    elif isinstance(new, default_types.Literal):
        yield f"Literal {type(old.value).__name__} to {type(new.value).__name__}"
    elif isinstance(new, tensors.TensorSpec):
        yield from tensor_differences(new, old)
    else:
        yield type(new).__name__


def components(structure: Any) -> Any:
    """Return the parts of a tuple or list type."""
    if isinstance(structure, default_types.List):
        structure = structure.components_tuple
    return structure.components


def tensor_differences(new: tensors.TensorSpec, old: tensors.TensorSpec) -> Iterator[str]:
    """Yield dtype, rank, or which axis changed and whether it became general."""
    if new.dtype != old.dtype:
        yield f"dtype {old.dtype.name} to {new.dtype.name}"
    if new.shape.rank != old.shape.rank:
        yield "rank"
    elif new.shape != old.shape and new.shape.rank is not None:
        for axis, (size, before) in enumerate(
            zip(new.shape.as_list(), old.shape.as_list(), strict=True)
        ):
            if size != before:
                yield f"size of axis {axis}{' generalised' if size is None else ''}"
