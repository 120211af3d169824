"""context_variable: a `ContextVar` that the forward reads, set and reset between calls."""

from __future__ import annotations

from contextvars import ContextVar

from torch import Tensor, nn

from rondo.subjects.target import Construct


class ContextVariable(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.variable: ContextVar[float] = ContextVar("amount", default=0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.variable.get()


CONSTRUCT = Construct("context_variable", ContextVariable, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_variable(module: ContextVariable, value: int) -> None:
    """Set the variable in the current context."""
    module.variable.set((-1.0, 2.0, 0.5)[value])


@CONSTRUCT.change(values=2)
def replace_variable(module: ContextVariable, value: int) -> None:
    """Read another variable, of another default."""
    module.variable = ContextVar("amount", default=(0.25, 0.5)[value])
