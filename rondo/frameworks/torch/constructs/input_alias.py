"""input_alias: two float inputs of one shape, of which one is updated in place.

Whether the update shows in the other input depends on how the two share memory: not at all, fully,
by an overlap, or as neighbours in one storage. Functionalisation fixes one answer at compile time.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class InputAlias(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.update_second = False

    def forward(self, hidden: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            if self.update_second:
                second.mul_(0.5)
            else:
                first.add_(1)
            product = first * second
        return hidden + torch.tanh(product).sum().to(hidden.dtype), product


CONSTRUCT = Construct(
    "input_alias",
    InputAlias,
    kind="alias guard",
    inputs=(InputSpec("first", (4,)), InputSpec("second", (4,))),
)


@CONSTRUCT.change(values=2)
def choose_updated(module: InputAlias, value: int) -> None:
    """Choose which of the two inputs is updated in place."""
    module.update_second = value == 0
