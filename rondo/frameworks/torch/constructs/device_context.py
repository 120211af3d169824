"""device_context: a held `torch.device`, entered as a context in which tensors are made."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class DeviceContext(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.place = torch.device("cpu")

    def forward(self, hidden: Tensor) -> Tensor:
        with self.place:
            made = torch.ones(2)
        return hidden + (1.0 if made.device.type == "meta" else 0.5)


CONSTRUCT = Construct("device_context", DeviceContext, kind="ambient mode", guarded=True)


@CONSTRUCT.change(values=2)
def set_place(module: DeviceContext, value: int) -> None:
    """Hold another device."""
    module.place = torch.device(("meta", "cpu")[value])
