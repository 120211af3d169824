"""What constructs that hold layers of Paddle's own share: building them alike in every arm."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.layers import initial, own_dtype


def filled(layer: Any) -> Any:
    """Return a layer of Paddle's in the subject's dtype, its matrices filled from its seed."""
    layer.to(dtype=own_dtype())
    for weight in layer.parameters():
        if len(weight.shape) > 1:
            fill(weight)
    return layer


def fill(weight: Any) -> None:
    """Fill a matrix from the subject's seed."""
    values = initial(weight.shape, scale=weight.shape[0] ** -0.5)
    with paddle.no_grad():
        weight.set_value(values.astype(str(weight.dtype).removeprefix("paddle.")))


def fresh(weight: Any, factor: float) -> Any:
    """Return a new parameter like `weight`, scaled."""
    other = paddle.create_parameter(
        weight.shape,
        weight.dtype,
        default_initializer=paddle.nn.initializer.Assign((weight.detach() * factor).numpy()),
    )
    other.stop_gradient = weight.stop_gradient
    return other
