"""unused_size: a batch size that is compared with a limit, and nothing done about it.

The comparison leaves a guard on the size and no trace in the graph, so that two programs, one with
and one without it, come to the same graph: what tells a cache's entries apart must know the guard.
"""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class UnusedSize(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.limit = 12
        self.compared = True
        self.shift = 0.25

    def forward(self, hidden: Tensor) -> Tensor:
        if self.compared and hidden.shape[0] < self.limit:
            pass
        return hidden.tanh() * 3 + self.shift


CONSTRUCT = Construct("unused_size", UnusedSize, kind="compile-cache key")


@CONSTRUCT.change(values=2)
def set_compared(module: UnusedSize, value: int) -> None:
    """Compare the size no longer, or again."""
    module.compared = value == 1
