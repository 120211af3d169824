"""From JAX values to observation leaves, through numpy only: looking must compile nothing."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from rondo.frameworks.jax.flags import read_flags
from rondo.frameworks.jax.module import Module
from rondo.frameworks.shared.observe import array_leaf, fact, random_digests
from rondo.frameworks.shared.observe import value_leaves as shared_leaves
from rondo.oracle.observation import Leaf


def array_leaf_of(value: Any) -> Leaf | None:
    """Return the leaf of a JAX array with what else a user can read of it; None for the rest."""
    if not isinstance(value, jax.Array):
        return None
    if value.is_deleted():
        return fact("deleted array")
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        data = jax.random.key_data(value)
        return array_leaf(np.asarray(data), f"key<{jax.random.key_impl(value)}>")
    meta = {"weak_type": str(value.weak_type), "type": "jax.Array"}
    return array_leaf(np.asarray(value), str(value.dtype), meta)


def value_leaves(path: str, value: object) -> dict[str, Leaf]:
    """Return the leaves of a nested value under `path`."""
    return shared_leaves(path, value, array_leaf_of)


def model_leaves(head: str, model: Module) -> dict[str, Leaf]:
    """Return the leaves of a model's parameters, or of gradients shaped like them."""
    leaves: dict[str, Leaf] = {}
    for path, value in jax.tree_util.tree_leaves_with_path(model):
        name = jax.tree_util.keystr(path).lstrip(".")
        leaf = array_leaf_of(value)
        if leaf is not None:
            leaves[f"{head}.{name}"] = leaf
    return leaves


def ambient_leaves() -> dict[str, Leaf]:
    """Return the leaves of flags and of Python's and numpy's random states."""
    leaves = {f"ambient.{name}": fact(value) for name, value in read_flags().items()}
    return leaves | {f"rng.{name}": fact(value) for name, value in random_digests().items()}
