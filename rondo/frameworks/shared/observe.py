"""Observation leaves from plain values, and the random states that Python itself has.

An adapter supplies one function, from its own tensors to a leaf; nesting is the same everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from rondo.frameworks.python_random import python_random_digest
from rondo.oracle.observation import Leaf

TensorLeaf = Callable[[Any], Leaf | None]
"""From a framework's tensor to its leaf; None for anything else."""


def fact(value: object) -> Leaf:
    """Return a leaf that is compared by its text."""
    return Leaf("fact", text=str(value))


def widen(values: np.ndarray) -> np.ndarray:
    """Return a copy in the one type of its kind: float64, complex128, bool, int64 or uint64."""
    kind = values.dtype.kind
    if kind == "b":
        return values.copy()
    if kind == "c":
        return values.astype(np.complex128)
    if kind == "i":
        return values.astype(np.int64)
    if kind == "u":
        return values.astype(np.uint64)
    # float16 and float32, and extension types such as bfloat16, whose kind is V
    return values.astype(np.float64)


def array_leaf(values: np.ndarray, dtype: str, meta: Mapping[str, str] | None = None) -> Leaf:
    """Return the leaf of an array with the framework's name of its dtype."""
    return Leaf("tensor", dtype, widen(values), tuple(sorted((meta or {}).items())))


def value_leaves(path: str, value: object, tensor_leaf: TensorLeaf) -> dict[str, Leaf]:
    """Return the leaves of a nested value (tensors, lists, dicts, plain facts) under `path`."""
    leaf = tensor_leaf(value)
    if leaf is not None:
        return {path: leaf}
    if isinstance(value, dict):
        leaves = {f"{path}.keys": fact([str(key) for key in value])}
        for key, item in value.items():
            leaves |= value_leaves(f"{path}.{key}", item, tensor_leaf)
        return leaves
    if isinstance(value, (list, tuple)):
        leaves = {f"{path}.len": fact(len(value))}
        for index, item in enumerate(value):
            leaves |= value_leaves(f"{path}[{index}]", item, tensor_leaf)
        return leaves
    if isinstance(value, np.ndarray):
        return {path: array_leaf(value, f"numpy {value.dtype}")}
    if isinstance(value, float):
        return {path: Leaf("tensor", dtype="python float", values=np.array(value))}
    return {path: fact(f"{type(value).__name__} {value}")}


def random_digests() -> dict[str, str]:
    """Return short digests of Python's and numpy's random states."""
    numpy_state: Any = np.random.get_state(legacy=True)
    _, keys, *rest = numpy_state
    digest = blake2b(keys.tobytes() + repr(rest).encode(), digest_size=6).hexdigest()
    return {"python": python_random_digest(), "numpy": digest}


class RandomStates:
    """A picture of Python's and numpy's random states, put back by `restore`."""

    def __init__(self) -> None:
        self._python = random.getstate()
        self._numpy = np.random.get_state()

    def restore(self) -> None:
        """Put both back."""
        random.setstate(self._python)
        np.random.set_state(self._numpy)


def seed_random(seed: int) -> None:
    """Seed Python's `random` and numpy's legacy generator."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
