"""slot_attribute: an object with `__slots__`, whose attributes are no dict entries."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Slotted:
    """Two slots, one of which may be empty."""

    __slots__ = ("gain", "shift")

    gain: float
    shift: float

    def __init__(self) -> None:
        self.gain = 0.5


class SlotAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.slotted = Slotted()

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * self.slotted.gain + getattr(self.slotted, "shift", 0.25)


CONSTRUCT = Construct("slot_attribute", SlotAttribute, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def set_gain(module: SlotAttribute, value: int) -> None:
    """Set the slot that is never empty."""
    module.slotted.gain = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=3)
def set_shift(module: SlotAttribute, value: int) -> None:
    """Fill the other slot, or empty it."""
    if value < 2:
        module.slotted.shift = (1.0, -0.5)[value]
    elif hasattr(module.slotted, "shift"):
        del module.slotted.shift


@CONSTRUCT.change()
def replace_slotted(module: SlotAttribute, value: int) -> None:
    """Hold another object."""
    module.slotted = Slotted()
