"""enum_member: a member of an enumeration that is compared, branched on, and used as a key."""

from __future__ import annotations

from enum import Enum, IntEnum

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Bend(Enum):
    """How to bend."""

    SINE = "sine"
    TANH = "tanh"


class Amount(IntEnum):
    """How far to shift."""

    SMALL = 1
    LARGE = 4


SCALES = {Bend.SINE: 0.5, Bend.TANH: 2.0}


class EnumMember(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.bend = Bend.SINE
        self.amount: Amount | int = Amount.SMALL

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden.sin() if self.bend is Bend.SINE else hidden.tanh()
        if isinstance(self.amount, Amount):
            hidden = -hidden
        return hidden * SCALES[self.bend] + self.amount / 8


CONSTRUCT = Construct("enum_member", EnumMember, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def set_bend(module: EnumMember, value: int) -> None:
    """Set the member that is branched on."""
    module.bend = (Bend.TANH, Bend.SINE)[value]


@CONSTRUCT.change(values=4)
def set_amount(module: EnumMember, value: int) -> None:
    """Set the amount: another member, a plain int that equals a member, or the first."""
    module.amount = (Amount.LARGE, 4, 1, Amount.SMALL)[value]
