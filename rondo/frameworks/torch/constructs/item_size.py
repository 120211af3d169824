"""item_size: an index input read by `.item()` and used as a size, an offset and a bound."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class ItemSize(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.extra = 1

    def forward(self, hidden: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        length = int(count.item()) + self.extra
        made = torch.arange(length).float()
        if length > 2:
            hidden = hidden * 0.5
        rolled = hidden.roll(length, -1)
        return rolled + made.sum().tanh().to(hidden.dtype), made


CONSTRUCT = Construct(
    "item_size",
    ItemSize,
    kind="dynamic specialisation",
    inputs=(InputSpec("count", (), kind="index", high=4),),
    guarded=True,
)


@CONSTRUCT.change(values=4)
def set_extra(module: ItemSize, value: int) -> None:
    """Set the number added to the value that was read."""
    module.extra = (0, 2, 3, 1)[value]
