"""numpy_value: a numpy scalar and a numpy array on the module, used beside tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class NumpyValue(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.scalar: Any = np.float32(0.5)
        self.array: Any = np.array([0.25, -0.5])

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        filled = torch.as_tensor(self.array) * 2
        return hidden * float(self.scalar) + float(self.array.sum()), filled


CONSTRUCT = Construct("numpy_value", NumpyValue, kind="py-object guard")


@CONSTRUCT.change(values=4)
def set_scalar(module: NumpyValue, value: int) -> None:
    """Hold another scalar: of another value, a wider type, an integer, or the first."""
    module.scalar = (np.float32(-1.0), np.float64(0.1), np.int64(2), np.float32(0.5))[value]


@CONSTRUCT.change(values=3)
def set_array(module: NumpyValue, value: int) -> None:
    """Hold another array: of another type, another size, or one like the first."""
    module.array = (np.array([1, 2]), np.array([0.75]), np.array([0.25, -0.5]))[value]


@CONSTRUCT.change(values=2)
def edit_array(module: NumpyValue, value: int) -> None:
    """Edit the array in place."""
    module.array[0] = (1, 0.25)[value]
