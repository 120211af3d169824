"""fed_back: the output of each call is an input of the next one, as in a decoding loop.

Recorded CUDA graphs read that input from the memory into which they write it. A copy between two
calls is what torch's documentation asks for; it changes nothing that is computed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class FedBack(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.carried = torch.zeros(features)

    def forward(self, hidden: Tensor) -> Tensor:
        news = hidden.detach().flatten(0, -2).float().mean(0)
        self.carried = (news + self.carried * 0.5).tanh()
        return hidden + self.carried.to(hidden.dtype)


CONSTRUCT = Construct("fed_back", FedBack, kind="cudagraph memory", guarded=True)


@CONSTRUCT.change()
def copy_carried(module: FedBack, value: int) -> None:
    """Feed back a copy, in memory of its own."""
    module.carried = module.carried.clone()


@CONSTRUCT.change(values=2)
def restart(module: FedBack, value: int) -> None:
    """Begin anew, from ones or from zeros."""
    module.carried = torch.full_like(module.carried, (1.0, 0.0)[value])


@CONSTRUCT.change()
def hold_double(module: FedBack, value: int) -> None:
    """Feed back twice what came out, computed between the calls."""
    module.carried = module.carried * 2


@CONSTRUCT.observe
def carried(module: FedBack) -> dict[str, object]:
    """Report what the next call will be given."""
    return {"carried": module.carried}
