"""shape_branch: Python branches on the batch size and on the dtype of what comes in."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class ShapeBranch(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.threshold = 2

    def forward(self, hidden: Any) -> Any:
        if hidden.shape[0] > self.threshold:
            hidden = hidden - jnp.mean(hidden, 0, keepdims=True)
        if hidden.dtype != jnp.float32:
            hidden = hidden * 2.0
        return hidden / hidden.shape[0]


CONSTRUCT = Construct("shape_branch", ShapeBranch, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=3)
def set_threshold(module: ShapeBranch, value: int) -> None:
    """Centre from another batch size on."""
    module.threshold = (0, 3, 2)[value]
