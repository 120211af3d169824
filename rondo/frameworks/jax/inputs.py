"""Inputs of one call as JAX users pass them: device arrays, numpy arrays, committed or not.

JAX arrays have no strides, so a call's `layout` says in what the values are handed over instead:

| layout | argument |
|---|---|
| contiguous | an uncommitted `jax.Array` |
| transposed | a numpy array in Fortran order |
| strided | a numpy view with gaps |
| offset | a `jax.Array` committed to its device |
| expanded | a numpy view that repeats the first slice |

Each of these has its own entry in jit's fast path for one and the same trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from rondo.frameworks.shared.inputs import Drawn, draw_inputs
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import Dimension, InputSpec

DTYPES = {
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
}


def make_inputs(
    call: Call,
    specs: Sequence[InputSpec],
    dimensions: Sequence[Dimension],
    *,
    seed: int,
    reference: bool = False,
) -> dict[str, object]:
    """Build the arguments that `call` describes. With `reference`, floats stay float64."""
    arguments: dict[str, object] = {}
    drawn = draw_inputs(call, specs, dimensions, seed=seed)
    for name, one in drawn.items():
        arguments[name] = _argument(one, call, reference=reference)
    _share(arguments, drawn, call)
    return arguments


def _argument(drawn: Drawn, call: Call, *, reference: bool) -> object:
    value = drawn.value
    if not isinstance(value, np.ndarray):
        return value
    if drawn.kind == "float":
        # Rounded to the call's dtype first: the reference sees the numbers that the others see.
        rounded = value.astype(DTYPES[call.choice("dtype")])
        return hand_over(rounded.astype(np.float64) if reference else rounded, call)
    if drawn.kind == "index":
        return hand_over(value.astype(np.int32), call)
    return hand_over(value, call)


def hand_over(value: np.ndarray, call: Call) -> object:
    """Return `value` as the kind of argument that the call's `layout` names."""
    layout = call.choice("layout")
    if layout == "contiguous" or value.ndim == 0 or value.size == 0:
        return jnp.asarray(value)
    if layout == "transposed":
        return np.asfortranarray(value)
    if layout == "strided":
        wide = np.zeros((*value.shape[:-1], value.shape[-1] * 2), value.dtype)
        wide[..., ::2] = value
        return wide[..., ::2]
    if layout == "offset":
        return jax.device_put(value, jax.devices()[0])
    return np.broadcast_to(value[:1], value.shape)


def _share(arguments: dict[str, object], drawn: Mapping[str, Drawn], call: Call) -> None:
    """Make partners one object, or overlapping views of one numpy array."""
    for name, one in drawn.items():
        if not one.partner:
            continue
        first = arguments[one.partner]
        if call.choice("alias") == "same" or not isinstance(first, np.ndarray) or not first.size:
            arguments[name] = first
            continue
        flat = np.ascontiguousarray(first).reshape(-1)
        step = flat.size if call.choice("alias") == "adjacent" else max(1, flat.size // 2)
        base = np.concatenate([flat, flat])
        arguments[one.partner] = base[: flat.size].reshape(first.shape)
        arguments[name] = base[step : step + flat.size].reshape(first.shape)
