"""updated_parameter: a parameter updated in place by the forward that multiplies by it.

Eager keeps the updated value for the backward. A compiled backward may rather recompute it from the
parameter, which by then holds the update already and would be updated twice.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class UpdatedParameter(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.linspace(0.25, 0.75, features))
        self.updating = True

    def forward(self, hidden: Tensor) -> Tensor:
        if self.updating:
            with torch.no_grad():
                self.gain.neg_()
        return (hidden * self.gain).to(hidden.dtype)


CONSTRUCT = Construct("updated_parameter", UpdatedParameter, kind="backward artefact")


@CONSTRUCT.change(values=2)
def set_updating(module: UpdatedParameter, value: int) -> None:
    """Stop the update in the forward, or let it run again."""
    module.updating = value == 1


@CONSTRUCT.change(values=2)
def replace_gain(module: UpdatedParameter, value: int) -> None:
    """Put another parameter in the place of the updated one."""
    module.gain = nn.Parameter(torch.full_like(module.gain, (0.5, -0.25)[value]))
