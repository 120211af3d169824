"""From Paddle values to observation leaves, and where a subject's tensors are found."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.ambient import read_ambient, read_random
from rondo.frameworks.shared.observe import array_leaf, fact
from rondo.frameworks.shared.observe import value_leaves as shared_leaves
from rondo.oracle.observation import Leaf


def tensor_leaf(value: Any) -> Leaf | None:
    """Return the leaf of a tensor or parameter; None for anything else.

    Strides are left out: a program puts out contiguous tensors where eager calls put out views.
    """
    if isinstance(value, paddle.pir.Value):
        return fact(f"symbolic {name_of(value.dtype)} tensor")
    if not isinstance(value, paddle.Tensor):
        return None
    meta = {"stop_gradient": str(bool(value.stop_gradient))}
    if not value._is_initialized():
        return fact(f"{name_of(value.dtype)} tensor without values")
    # numpy has no bfloat16, and Paddle hands its bits over as integers.
    numbers = value.detach()
    narrow = value.dtype == paddle.bfloat16
    return array_leaf(
        (numbers.astype("float32") if narrow else numbers).numpy(), name_of(value.dtype), meta
    )


def name_of(dtype: Any) -> str:
    """Return the plain name of a dtype."""
    return str(dtype).removeprefix("paddle.")


def value_leaves(path: str, value: object) -> dict[str, Leaf]:
    """Return the leaves of a nested value under `path`."""
    return shared_leaves(path, value, tensor_leaf)


def parameters_of(layer: paddle.nn.Layer) -> dict[str, Any]:
    """Return the parameters that a user reaches from `layer`, by path, each once."""
    return dict(layer.named_parameters())


def buffers_of(layer: paddle.nn.Layer) -> dict[str, Any]:
    """Return the buffers that a user reaches from `layer`, by path, each once."""
    return dict(layer.named_buffers())


def layer_leaves(layer: paddle.nn.Layer) -> dict[str, Leaf]:
    """Return the leaves of all parameters and buffers."""
    leaves: dict[str, Leaf] = {}
    for head, found in (("param", parameters_of(layer)), ("buffer", buffers_of(layer))):
        for path, tensor in found.items():
            leaf = tensor_leaf(tensor)
            if leaf is not None:
                leaves[f"{head}.{path}"] = leaf
    return leaves


def ambient_leaves() -> dict[str, Leaf]:
    """Return the leaves of global modes and random states."""
    leaves = {f"ambient.{name}": fact(value) for name, value in read_ambient().items()}
    return leaves | {f"rng.{name}": fact(value) for name, value in read_random().items()}
