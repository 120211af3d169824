"""module_dict: a ModuleDict and a ParameterList walked through, their members exchanged."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class ModuleDict(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"bend": nn.Tanh(), "squash": nn.Sigmoid()})
        self.shifts = nn.ParameterList([torch.full((), 0.25), torch.full((), -0.5)])

    def forward(self, hidden: Tensor) -> Tensor:
        for name, layer in self.layers.items():
            hidden = layer(hidden)
            if name == "bend":
                hidden = hidden + 0.5
        for shift in self.shifts:
            hidden = hidden.sin() + shift.to(hidden.dtype)
        return hidden


CONSTRUCT = Construct("module_dict", ModuleDict, kind="module guard", guarded=True)


@CONSTRUCT.change(values=2)
def move_to_end(module: ModuleDict, value: int) -> None:
    """Move one layer to the end."""
    name = ("bend", "squash")[value]
    if name in module.layers:
        module.layers[name] = module.layers.pop(name)


@CONSTRUCT.change(values=3)
def set_layer(module: ModuleDict, value: int) -> None:
    """Put another layer under a name, new or old, or the first one again."""
    name, layer = (("squash", nn.Softsign()), ("extra", nn.GELU()), ("squash", nn.Sigmoid()))[value]
    module.layers[name] = layer


@CONSTRUCT.change()
def drop_extra(module: ModuleDict, value: int) -> None:
    """Drop the layer that was added, if there is one."""
    if "extra" in module.layers:
        del module.layers["extra"]


@CONSTRUCT.change(values=2)
def swap_shifts(module: ModuleDict, value: int) -> None:
    """Swap the parameters, or let one stand in both places."""
    first, second = module.shifts[0], module.shifts[1]
    module.shifts[0], module.shifts[1] = ((second, first), (first, first))[value]
