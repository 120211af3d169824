"""hasattr_test: branches on whether an attribute exists on an instance or on its class.

As with shadowed builtins, absence is the state: what must be guarded is that nothing is there.
"""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Options:
    """An object that may or may not have the attributes that the forward asks for."""


class HasattrTest(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.options = Options()

    def forward(self, hidden: Tensor) -> Tensor:
        if hasattr(self.options, "shift"):
            hidden = hidden + 1
        hidden = hidden * getattr(self.options, "factor", 0.5)
        if hasattr(self, "negated"):
            hidden = -hidden
        return hidden


CONSTRUCT = Construct("hasattr_test", HasattrTest, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def set_shift(module: HasattrTest, value: int) -> None:
    """Give the object the attribute that is tested for, or take it away."""
    module.options.__dict__.pop("shift", None)
    if value == 0:
        module.options.shift = 1  # type: ignore[attr-defined]


@CONSTRUCT.change(values=2)
def set_class_shift(module: HasattrTest, value: int) -> None:
    """Give the class of the object the attribute that is tested for, or take it away."""
    if value == 0:
        Options.shift = 1  # type: ignore[attr-defined]
    elif "shift" in vars(Options):
        del Options.shift  # type: ignore[attr-defined]


@CONSTRUCT.change(values=3)
def set_factor(module: HasattrTest, value: int) -> None:
    """Give the object the attribute that is read with a default, or take it away."""
    module.options.__dict__.pop("factor", None)
    if value < 2:
        module.options.factor = (-1.0, 0.25)[value]  # type: ignore[attr-defined]


@CONSTRUCT.change(values=2)
def set_class_factor(module: HasattrTest, value: int) -> None:
    """Give the class the attribute that is read with a default, or take it away."""
    if value == 0:
        Options.factor = 0.75  # type: ignore[attr-defined]
    elif "factor" in vars(Options):
        del Options.factor  # type: ignore[attr-defined]


@CONSTRUCT.change(values=2)
def set_negated(module: HasattrTest, value: int) -> None:
    """Give the module the attribute that is tested for, or take it away."""
    module.__dict__.pop("negated", None)
    if value == 0:
        module.__dict__["negated"] = True
