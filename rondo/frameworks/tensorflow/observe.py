"""From TensorFlow values to observation leaves, and where a subject's variables are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from rondo.frameworks.shared.observe import array_leaf, fact
from rondo.frameworks.shared.observe import value_leaves as shared_leaves
from rondo.frameworks.tensorflow.ambient import read_ambient, read_random
from rondo.oracle.observation import Leaf


def tensor_leaf(value: Any) -> Leaf | None:
    """Return the leaf of a tensor or variable; None for anything else."""
    if isinstance(value, keras.Variable):
        value = value.value
    if isinstance(value, (tf.IndexedSlices, tf.RaggedTensor, tf.SparseTensor)):
        kind = type(value).__name__
        dense = tf.convert_to_tensor(value) if kind == "IndexedSlices" else value.to_tensor()
        return array_leaf(dense.numpy(), dense.dtype.name, {"type": kind})
    if isinstance(value, tf.Variable):
        return _variable_leaf(value)
    if not tf.is_tensor(value):
        return None
    if not hasattr(value, "numpy"):
        # A tensor of a graph that left it: what TensorFlow calls a leak.
        return fact(f"symbolic {value.dtype.name} tensor")
    return _array(value.numpy(), value.dtype.name, "Tensor")


def _variable_leaf(variable: tf.Variable) -> Leaf:
    try:
        values = variable.numpy()
    except (tf.errors.OpError, NotImplementedError):
        return fact(f"variable without a value, {variable.dtype.name}")
    return _array(values, variable.dtype.name, "Variable")


def _array(values: Any, dtype: str, kind: str) -> Leaf:
    array = np.asarray(values)
    if array.dtype.kind in "OSU":
        return fact(f"{dtype} {array.tolist()}")
    return array_leaf(array, dtype, {"type": kind})


def value_leaves(path: str, value: object) -> dict[str, Leaf]:
    """Return the leaves of a nested value under `path`."""
    return shared_leaves(path, value, tensor_leaf)


def variables_of(owner: object) -> dict[str, Any]:
    """Return the variables that a user can reach from `owner`, by attribute path, each once.

    `tf.Module` knows its own and Keras its own, and neither looks into the other.
    """
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for path, variable in _walk(owner, "", seen):
        found[path] = variable
    return found


def _walk(value: object, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if id(value) in seen:
        return
    if isinstance(value, (tf.Variable, keras.Variable)):
        seen.add(id(value))
        yield path, value
    elif isinstance(value, keras.Layer):
        seen.add(id(value))
        for index, variable in enumerate(value.variables):
            yield from _walk(variable, f"{path}.{index}", seen)
    elif isinstance(value, tf.Module) or getattr(value, "holds_variables", False):
        seen.add(id(value))
        for name, attribute in sorted(vars(value).items()):
            if not name.startswith("_"):
                yield from _walk(attribute, f"{path}.{name}" if path else name, seen)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}", seen)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}.{index}", seen)
    elif isinstance(value, tf.random.Generator):
        yield from _walk(value.state, f"{path}.state", seen)


def variable_leaves(owner: object) -> dict[str, Leaf]:
    """Return the leaves of all variables: `param` where a tape would watch them, else `buffer`."""
    leaves: dict[str, Leaf] = {}
    for path, variable in variables_of(owner).items():
        head = "param" if variable.trainable else "buffer"
        leaf = tensor_leaf(variable)
        if leaf is not None:
            leaves[f"{head}.{path}"] = leaf
    return leaves


def ambient_leaves() -> dict[str, Leaf]:
    """Return the leaves of global modes and random states."""
    leaves = {f"ambient.{name}": fact(value) for name, value in read_ambient().items()}
    return leaves | {f"rng.{name}": fact(value) for name, value in read_random().items()}
