"""tied_parameters: two parameters that become one object, one of them updated in place.

After tying, the update of the first must show in the second. The compiled graph has lifted both as
separate inputs, which is only right as long as they are separate. Both enter the output linearly:
what a backward recomputes from an updated parameter is the business of `updated_parameter`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class TiedParameters(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.linspace(0.25, 0.75, features))
        self.second = nn.Parameter(torch.linspace(-0.5, 0.5, features))

    def forward(self, hidden: Tensor) -> Tensor:
        with torch.no_grad():
            self.first.neg_()
        return hidden + (self.first * 0.5 + self.second).to(hidden.dtype)


CONSTRUCT = Construct("tied_parameters", TiedParameters, kind="alias guard")


@CONSTRUCT.change(values=4)
def tie(module: TiedParameters, value: int) -> None:
    """Tie the parameters one way or the other, let them share storage, or untie them."""
    if value == 0:
        module.second = module.first
    elif value == 1:
        module.first = module.second
    elif value == 2:
        module.second = nn.Parameter(module.first.detach())
    else:
        module.second = nn.Parameter(torch.full_like(module.first, 0.25))
