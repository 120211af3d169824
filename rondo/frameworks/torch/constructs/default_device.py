"""default_device: tensors made without a device, or on the device that an attribute names."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class DefaultDevice(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.place = torch.device("cpu")

    def forward(self, hidden: Tensor) -> Tensor:
        if torch.ones(2).device.type == "meta":
            hidden = hidden + 1
        if torch.ones(2, device=self.place).device.type == "meta":
            hidden = hidden * 0.5
        return hidden + 0.25


CONSTRUCT = Construct("default_device", DefaultDevice, kind="ambient mode")


@CONSTRUCT.change(values=2)
def set_default(module: DefaultDevice, value: int) -> None:
    """Set the default device of the process, or unset it."""
    torch.set_default_device(("meta", None)[value])


@CONSTRUCT.change(values=2)
def set_place(module: DefaultDevice, value: int) -> None:
    """Hold another device."""
    module.place = torch.device(("meta", "cpu")[value])
