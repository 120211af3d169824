"""member_type: members of a set, a frozenset and a nested tuple, equal and of different types.

As `key_type` and `tuple_content` do for keys and for flat tuples: what is compared by equality lets
1 pass for True and for 1.0, and 0.0 for -0.0.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class MemberType(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.members: set[float] = {1}
        self.frozen: frozenset[float] = frozenset({0})
        self.nested: tuple[tuple[float, ...], ...] = ((1,), (2,))

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        member = next(iter(self.members))
        return (
            hidden + member / 4,
            torch.full((2,), member),
            torch.full((2,), next(iter(self.frozen))),
            torch.full((2,), self.nested[0][0]),
        )


CONSTRUCT = Construct("member_type", MemberType, kind="py-object guard")


@CONSTRUCT.change(values=4)
def replace_members(module: MemberType, value: int) -> None:
    """Hold another set: of an equal bool or float, of another number, or as it was."""
    choices: tuple[set[float], ...] = ({True}, {1.0}, {2}, {1})
    module.members = choices[value]


@CONSTRUCT.change(values=4)
def replace_frozen(module: MemberType, value: int) -> None:
    """Hold another frozenset: of False, of either float zero, or as it was."""
    module.frozen = (frozenset({False}), frozenset({0.0}), frozenset({-0.0}), frozenset({0}))[value]


@CONSTRUCT.change(values=3)
def replace_nested(module: MemberType, value: int) -> None:
    """Hold another nested tuple: equal with a float inside, different, or as it was."""
    module.nested = (((1.0,), (2,)), ((3,), (2,)), ((1,), (2,)))[value]
