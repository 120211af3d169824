"""builtin_name: names that resolve to builtins until the file defines globals of the same name.

Lookup goes globals first, builtins second, so *absence* from the globals is part of what a compiled
frame relies on. A guard on the builtin that was found does not see a global that appears later.
"""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class BuiltinName(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * abs(-0.5) + max(0.25, 0.5)


CONSTRUCT = Construct("builtin_name", BuiltinName, kind="py-object guard")


@CONSTRUCT.change(values=3)
def shadow_abs(module: BuiltinName, value: int) -> None:
    """Define a global named abs in this file, or take it away."""
    globals().pop("abs", None)
    if value < 2:
        gain = (0.75, 1.0)[value]
        globals()["abs"] = lambda number: gain


@CONSTRUCT.change(values=2)
def shadow_max(module: BuiltinName, value: int) -> None:
    """Let the global name max mean the builtin min, or take it away."""
    globals().pop("max", None)
    if value == 0:
        globals()["max"] = min
