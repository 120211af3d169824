"""Inputs of one call as TensorFlow users pass them: tensors, numpy arrays, variables.

Tensors have no strides, so a call's `layout` says as what the values are handed over instead:

| layout | argument |
|---|---|
| contiguous | a `tf.Tensor` |
| transposed | a numpy array, which tf.function turns into a tensor |
| strided | a new `tf.Variable`: traced by its dtype and shape, and by which arguments are one |
| offset | a tensor that was placed on its device by name |
| expanded | a tensor that repeats the first slice |

Tensors cannot be written to, so aliased inputs are one object, whatever kind of alias is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rondo.frameworks.shared.inputs import Drawn, draw_inputs
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import Dimension, InputSpec

DTYPES = {
    "float32": tf.float32,
    "float64": tf.float64,
    "bfloat16": tf.bfloat16,
    "float16": tf.float16,
}


def make_inputs(
    call: Call,
    specs: Sequence[InputSpec],
    dimensions: Sequence[Dimension],
    *,
    seed: int,
    reference: bool = False,
) -> dict[str, object]:
    """Build the arguments that `call` describes. With `reference`, floats are float64."""
    arguments: dict[str, object] = {}
    for name, one in draw_inputs(call, specs, dimensions, seed=seed).items():
        arguments[name] = (
            arguments[one.partner] if one.partner else _argument(one, call, reference=reference)
        )
    return arguments


def _argument(drawn: Drawn, call: Call, *, reference: bool) -> object:
    value = drawn.value
    if not isinstance(value, np.ndarray):
        return value
    if drawn.kind == "float":
        # Rounded to the call's dtype first: the reference sees the numbers that the others see.
        rounded = value.astype(DTYPES[call.choice("dtype")].as_numpy_dtype)
        value = rounded.astype(np.float64) if reference else rounded
    return hand_over(value, call.choice("layout"))


def hand_over(value: np.ndarray, layout: str) -> object:
    """Return `value` as the kind of argument that `layout` names."""
    if layout == "transposed":
        return value
    if layout == "strided":
        return tf.Variable(value)
    if layout == "offset":
        with tf.device("/CPU:0"):
            return tf.constant(value)
    if layout == "expanded" and value.ndim and value.size:
        return tf.constant(np.ascontiguousarray(np.broadcast_to(value[:1], value.shape)))
    return tf.constant(value)
