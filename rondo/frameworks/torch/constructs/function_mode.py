"""function_mode: a torch function mode that is held, entered by the forward, and edited."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from rondo.subjects.target import Construct


class ScaleSines(TorchFunctionMode):
    """Multiply the result of each sine."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * self.factor if func is torch.sin else result


class FunctionMode(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.mode = ScaleSines(0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        with self.mode:
            return torch.sin(hidden) + 0.25


CONSTRUCT = Construct("function_mode", FunctionMode, kind="ambient mode")


@CONSTRUCT.change(values=2)
def set_factor(module: FunctionMode, value: int) -> None:
    """Edit the held mode."""
    module.mode.factor = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def replace_mode(module: FunctionMode, value: int) -> None:
    """Hold another mode."""
    module.mode = ScaleSines((2.0, 0.5)[value])


@CONSTRUCT.change(values=2)
def rebind_handler(module: FunctionMode, value: int) -> None:
    """Give the mode's class another handler."""
    sign = (-1, 1)[value]

    def handle(self: ScaleSines, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * (sign * self.factor) if func is torch.sin else result

    ScaleSines.__torch_function__ = handle  # type: ignore[method-assign]
