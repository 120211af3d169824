"""matmul_precision: a branch on the precision that float32 products are allowed to have."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class MatmulPrecision(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Tensor) -> Tensor:
        if torch.get_float32_matmul_precision() == "highest":
            return hidden * 0.5
        return hidden + 0.5


CONSTRUCT = Construct("matmul_precision", MatmulPrecision, kind="ambient mode", guarded=True)


@CONSTRUCT.change(values=3)
def set_precision(module: MatmulPrecision, value: int) -> None:
    """Set the precision of the process."""
    torch.set_float32_matmul_precision(("medium", "high", "highest")[value])
