"""list_alias: two list arguments that a call may make one object, each appended to.

What the second append does depends on whether the arguments are one list, so this is a fact about
the pair that has to be guarded even though both lists look the same by themselves.
"""

from __future__ import annotations

from torch import Tensor, nn

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class ListAlias(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.shift = 0.125

    def forward(
        self, hidden: Tensor, first: list[Tensor], second: list[Tensor]
    ) -> tuple[Tensor, int, int]:
        first.append(hidden + 1)
        second.append(hidden - 1)
        return hidden + len(first) * self.shift, len(first), len(second)


CONSTRUCT = Construct(
    "list_alias",
    ListAlias,
    kind="alias guard",
    inputs=(InputSpec("first", kind="list"), InputSpec("second", kind="list")),
)


@CONSTRUCT.change(values=2)
def set_shift(module: ListAlias, value: int) -> None:
    """Give the weight of the list's length another value."""
    module.shift = (0.25, 0.125)[value]
