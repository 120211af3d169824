"""numpy_constant: a numpy array that is turned into a tensor, written in place and replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class NumpyConstant(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.table = np.ones(features)

    def forward(self, hidden: Any) -> Any:
        return hidden * paddle.cast(paddle.to_tensor(self.table), hidden.dtype)


CONSTRUCT = Construct("numpy_constant", NumpyConstant, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=2)
def write(module: NumpyConstant, value: int) -> None:
    """Write into the array."""
    module.table[:1] = (3.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def replace(module: NumpyConstant, value: int) -> None:
    """Put another array in its place."""
    module.table = np.full_like(module.table, (0.5, 1.0)[value])
