"""graph_break: explicit breaks, in a context and in a row, with Python state live across them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class GraphBreak(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.breaks = 1
        self.inside = False
        self.history: list[float] = []

    def forward(self, hidden: Tensor) -> Tensor:
        amounts = {"first": 0.5, "second": -0.25}
        if self.breaks > 0:
            hidden = hidden.sin() + amounts["first"]
            torch._dynamo.graph_break()
            amounts["first"] = amounts["second"] + self.breaks / 4
        if self.breaks > 1:
            hidden = hidden.sin() + amounts["first"]
            torch._dynamo.graph_break()
            amounts["second"] = 0.125
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.inside):
            hidden = hidden * 2
            if self.inside:
                torch._dynamo.graph_break()
            hidden = hidden.cos()
        self.history.append(amounts["first"] + amounts["second"])
        return hidden + len(self.history) / 8


CONSTRUCT = Construct("graph_break", GraphBreak, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_breaks(module: GraphBreak, value: int) -> None:
    """Set the number of breaks in a row."""
    module.breaks = (0, 2, 1)[value]


@CONSTRUCT.change(values=2)
def set_inside(module: GraphBreak, value: int) -> None:
    """Break inside of the context too, or not."""
    module.inside = value == 0


@CONSTRUCT.change()
def clear_history(module: GraphBreak, value: int) -> None:
    """Forget what was recorded."""
    module.history = []


@CONSTRUCT.observe
def recorded(module: GraphBreak) -> dict[str, object]:
    """Report what was recorded."""
    return {"history": list(module.history)}
