"""global_counter: a global and an attribute that the forward itself counts up."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct

calls = 0


class GlobalCounter(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, hidden: Tensor) -> Tensor:
        global calls
        calls += 1
        self.seen += hidden.shape[0]
        return hidden + (0.5 if calls % 2 else -0.5) + (0.25 if self.seen > 6 else 0.0)


CONSTRUCT = Construct("global_counter", GlobalCounter, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_calls(module: GlobalCounter, value: int) -> None:
    """Set the global count."""
    global calls
    calls = (1, 10, 0)[value]


@CONSTRUCT.change(values=3)
def set_seen(module: GlobalCounter, value: int) -> None:
    """Set the count of rows seen."""
    module.seen = (100, -100, 0)[value]


@CONSTRUCT.observe
def counts(module: GlobalCounter) -> dict[str, object]:
    """Report both counts."""
    return {"calls": calls, "seen": module.seen}
