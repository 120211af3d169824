"""missing_attribute: attributes that are looked for in vain on a file, a function and an object.

What is found is guarded by reading it again; what is not found leaves nothing to read. An instance
asked by `hasattr` is in `hasattr_test`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Record:
    """An object that lacks the attribute that the forward tries to read."""


class MissingAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.settings: Any = ModuleType("settings")
        self.record: Any = Record()

        def hook() -> None:
            return None

        self.hook: Any = hook

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden * getattr(self.settings, "gain", 0.5)
        if hasattr(self.hook, "negated"):
            hidden = -hidden
        try:
            shift = self.record.shift
        except AttributeError:
            shift = 0.25
        return hidden + shift


CONSTRUCT = Construct("missing_attribute", MissingAttribute, kind="py-object guard")


@CONSTRUCT.change(values=2)
def set_gain(module: MissingAttribute, value: int) -> None:
    """Give the file the name that is read with a default, or take it away."""
    vars(module.settings).pop("gain", None)
    if value == 0:
        module.settings.gain = 2.0


@CONSTRUCT.change(values=2)
def set_negated(module: MissingAttribute, value: int) -> None:
    """Give the function the attribute that is tested for, or take it away."""
    vars(module.hook).pop("negated", None)
    if value == 0:
        module.hook.negated = True


@CONSTRUCT.change(values=2)
def set_shift(module: MissingAttribute, value: int) -> None:
    """Give the object the attribute that is tried, or take it away."""
    vars(module.record).pop("shift", None)
    if value == 0:
        module.record.shift = 1.0


@CONSTRUCT.change(values=2)
def set_class_shift(module: MissingAttribute, value: int) -> None:
    """Give the object's class the attribute that is tried, or take it away."""
    if value == 0:
        Record.shift = -1.0  # type: ignore[attr-defined]
    elif "shift" in vars(Record):
        del Record.shift  # type: ignore[attr-defined]
