"""disabled_function: a function kept from the compiler, called across a graph break."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


@torch.compiler.disable  # type: ignore[untyped-decorator]
def plain(hidden: Tensor, amount: float) -> Tensor:
    """Shift, uncompiled."""
    return hidden + amount


class DisabledFunction(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.amount = 0.5
        self.called: Callable[[Tensor, float], Tensor] = plain
        self.calls = 0

    def forward(self, hidden: Tensor) -> Tensor:
        before = self.amount
        hidden = self.called(hidden.sin(), before)
        self.calls += 1
        return hidden * before + self.calls / 8


CONSTRUCT = Construct("disabled_function", DisabledFunction, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_amount(module: DisabledFunction, value: int) -> None:
    """Set the number that lives on both sides of the break."""
    module.amount = (-1.0, 0.25, 0.5)[value]


@CONSTRUCT.change(values=3)
def set_called(module: DisabledFunction, value: int) -> None:
    """Call a traced function, another disabled one, or the first."""
    module.called = (
        lambda hidden, amount: hidden - amount,
        torch.compiler.disable(lambda hidden, amount: hidden * 2 - amount),
        plain,
    )[value]


@CONSTRUCT.observe
def counted(module: DisabledFunction) -> dict[str, object]:
    """Report the number of calls."""
    return {"calls": module.calls}
