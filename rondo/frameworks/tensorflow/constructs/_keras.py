"""What constructs that hold Keras layers share: building them alike in every arm."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.tensorflow.layers import initial, own_dtype


def built(layer: Any, features: int) -> Any:
    """Build a layer over (batch, features) and fill its matrices from the subject's seed."""
    layer.build((None, features))
    for weight in layer.trainable_weights:
        if len(weight.shape) > 1:
            weight.assign(initial(weight.shape, scale=features**-0.5))
    return layer


def policy() -> str:
    """Return the dtype policy that layers are made with: float64 for the reference."""
    return str(own_dtype().name)
