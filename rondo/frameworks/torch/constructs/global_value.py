"""global_value: a number, a tuple and a tensor of the file, read by their global names."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct

gain = 0.5
steps: tuple[float, ...] = (0.25, -0.5)
offset = torch.tensor(0.125)


class GlobalValue(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Tensor) -> Tensor:
        for step in steps:
            hidden = hidden.sin() + step
        return hidden * gain + offset.to(hidden.dtype)


CONSTRUCT = Construct("global_value", GlobalValue, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=4)
def set_gain(module: GlobalValue, value: int) -> None:
    """Rebind the number."""
    global gain
    gain = (-1.0, 1, True, 0.5)[value]


@CONSTRUCT.change(values=3)
def set_steps(module: GlobalValue, value: int) -> None:
    """Rebind the tuple: to other contents, another length, or as it was."""
    global steps
    steps = ((0.25, 0.5), (1.0,), (0.25, -0.5))[value]


@CONSTRUCT.change(values=3)
def set_offset(module: GlobalValue, value: int) -> None:
    """Rebind the tensor: to another value, another dtype, or as it was."""
    global offset
    offset = (
        torch.tensor(1.0),
        torch.tensor(1),
        torch.tensor(0.125),
    )[value]


@CONSTRUCT.change(values=2)
def delete_steps(module: GlobalValue, value: int) -> None:
    """Make the tuple a list, or a tuple again."""
    global steps
    steps = ([0.25, -0.5], (0.25, -0.5))[value]  # type: ignore[assignment]
