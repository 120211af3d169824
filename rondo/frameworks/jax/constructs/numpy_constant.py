"""numpy_constant: a numpy array outside of the model, which a trace bakes in."""

from __future__ import annotations

from typing import Any

import numpy as np

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Holder:
    """Keeps an array where no pytree sees it."""

    def __init__(self, features: int) -> None:
        self.array = np.ones(features, np.float32)


class NumpyConstant(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.holder = Holder(features)

    def forward(self, hidden: Any) -> Any:
        return hidden * self.holder.array.copy().astype(hidden.dtype)


CONSTRUCT = Construct("numpy_constant", NumpyConstant, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def fill(module: NumpyConstant, value: int) -> None:
    """Fill the array in place."""
    module.holder.array[:] = (0.5, 2.0, 1.0)[value]
