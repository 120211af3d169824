"""inner_compile: a function that is compiled by itself and called from a compiled forward.

While the outer forward is traced, the inner wrapper is inlined, and what the inner function reads
has to be guarded by the outer frame. A forward that nobody compiles calls the plain function: the
eager arm must not run compiled code.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct

gain = 0.5


def bend(hidden: Tensor, shift: float) -> Tensor:
    """Bend by a global and an argument."""
    return hidden.sin() * gain + shift


def lean(hidden: Tensor, shift: float) -> Tensor:
    """Lean by a global and an argument."""
    return hidden.tanh() - gain * shift


class InnerCompile(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.shift = 0.25
        self.hold(bend, dynamic=None)

    def hold(self, function: Callable[[Tensor, float], Tensor], *, dynamic: bool | None) -> None:
        self.plain = function
        self.compiled = torch.compile(function, backend="eager", dynamic=dynamic)

    def forward(self, hidden: Tensor) -> Tensor:
        inner = self.compiled if torch.compiler.is_compiling() else self.plain
        return inner(hidden, self.shift)


CONSTRUCT = Construct("inner_compile", InnerCompile, kind="py-object guard")


@CONSTRUCT.change(values=3)
def set_shift(module: InnerCompile, value: int) -> None:
    """Pass another number to the inner function."""
    module.shift = (-0.5, 1.0, 0.25)[value]


@CONSTRUCT.change(values=2)
def set_gain(module: InnerCompile, value: int) -> None:
    """Set the global that the inner function reads."""
    global gain
    gain = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=3)
def replace_inner(module: InnerCompile, value: int) -> None:
    """Hold another compiled function, the first one wrapped again, or as dynamic."""
    if value == 0:
        module.hold(lean, dynamic=None)
    else:
        module.hold(bend, dynamic=None if value == 1 else True)
