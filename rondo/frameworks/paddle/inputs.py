"""Inputs of one call as Paddle users pass them: tensors of every kind of strides and storage.

| layout | tensor |
|---|---|
| contiguous | a tensor of its own |
| transposed | a transposed view |
| strided | every second element of a larger buffer |
| offset | a view that starts inside of a larger buffer |
| expanded | a tensor that repeats its first slice |

Aliased inputs are one tensor (`same`), or two tensors over one memory: a view (`overlap`) or a
detached tensor (`adjacent`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle

from rondo.frameworks.shared.inputs import Drawn, draw_inputs
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import Dimension, InputSpec


def make_inputs(
    call: Call,
    specs: Sequence[InputSpec],
    dimensions: Sequence[Dimension],
    *,
    seed: int,
    reference: bool = False,
) -> dict[str, Any]:
    """Build the arguments that `call` describes. With `reference`, floats are float64."""
    arguments: dict[str, Any] = {}
    for name, one in draw_inputs(call, specs, dimensions, seed=seed).items():
        if one.partner:
            arguments[name] = aliased(arguments[one.partner], call.choice("alias"))
        else:
            arguments[name] = _argument(one, call, reference=reference)
    return arguments


def aliased(tensor: Any, kind: str) -> Any:
    """Return another name for a tensor's memory."""
    if kind == "same":
        return tensor
    other = tensor.view(tensor.shape) if kind == "overlap" else tensor.detach()
    other.stop_gradient = tensor.stop_gradient
    return other


def _argument(drawn: Drawn, call: Call, *, reference: bool) -> Any:
    value = drawn.value
    if not isinstance(value, np.ndarray):
        return value
    if drawn.kind != "float":
        return paddle.to_tensor(value)
    # Rounded to the call's dtype first: the reference sees the numbers that the others see.
    tensor = paddle.to_tensor(value).astype(call.choice("dtype"))
    tensor = lay_out(tensor.astype("float64") if reference else tensor, call.choice("layout"))
    tensor.stop_gradient = not call.inputs_grad
    return tensor


def lay_out(tensor: Any, layout: str) -> Any:
    """Return the values of `tensor` in memory as `layout` says."""
    rank = len(tensor.shape)
    if layout == "contiguous" or not rank or 0 in tensor.shape:
        return tensor
    if layout == "transposed" and rank > 1:
        axes = [*range(rank - 2), rank - 1, rank - 2]
        return paddle.transpose(paddle.transpose(tensor, axes).contiguous(), axes)
    if layout == "strided":
        return paddle.stack([tensor, tensor], -1)[..., 0]
    if layout == "offset":
        return paddle.concat([tensor[:1], tensor], 0)[1:]
    if layout == "expanded":
        return paddle.expand(tensor[:1], tensor.shape)
    return tensor
