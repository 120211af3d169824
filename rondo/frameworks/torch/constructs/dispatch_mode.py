"""dispatch_mode: a torch dispatch mode that is held, entered by the forward, and edited."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from rondo.subjects.target import Construct


class ScaleSines(TorchDispatchMode):
    """Multiply the result of each sine, below autograd."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * self.factor if func is torch.ops.aten.sin.default else result


class DispatchMode(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.mode = ScaleSines(0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        with self.mode:
            return hidden.sin() + 0.25


CONSTRUCT = Construct("dispatch_mode", DispatchMode, kind="ambient mode")


@CONSTRUCT.change(values=2)
def set_factor(module: DispatchMode, value: int) -> None:
    """Edit the held mode."""
    module.mode.factor = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def replace_mode(module: DispatchMode, value: int) -> None:
    """Hold another mode."""
    module.mode = ScaleSines((2.0, 0.5)[value])
