"""dynamic_attribute: an attribute computed by `__getattr__` as ordinary lookup finds nothing."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Lookup:
    """An object that answers for missing attributes from a table."""

    def __init__(self) -> None:
        self.table = {"gain": 0.5}

    def __getattr__(self, name: str) -> Any:
        return self.table[name]


class DynamicAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.lookup = Lookup()

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * self.lookup.gain


CONSTRUCT = Construct("dynamic_attribute", DynamicAttribute, kind="py-object guard")


@CONSTRUCT.change(values=2)
def set_entry(module: DynamicAttribute, value: int) -> None:
    """Set the table's entry."""
    module.lookup.table["gain"] = (-0.5, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_attribute(module: DynamicAttribute, value: int) -> None:
    """Set an ordinary attribute that is found before the table, or take it away."""
    module.lookup.__dict__.pop("gain", None)
    if value == 0:
        module.lookup.__dict__["gain"] = 1.0


@CONSTRUCT.change(values=2)
def set_class_attribute(module: DynamicAttribute, value: int) -> None:
    """Set an attribute of the class that is found before the table, or take it away."""
    if value == 0:
        Lookup.gain = 0.75  # type: ignore[attr-defined]
    elif "gain" in vars(Lookup):
        del Lookup.gain  # type: ignore[attr-defined]


@CONSTRUCT.change(values=2)
def rebind_lookup(module: DynamicAttribute, value: int) -> None:
    """Let the class answer for missing attributes in another way."""
    sign = (-1, 1)[value]
    Lookup.__getattr__ = lambda self, name: sign * self.table[name]  # type: ignore[method-assign]
