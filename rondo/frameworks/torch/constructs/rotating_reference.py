"""rotating_reference: a name that the forward itself moves from one held object to the next."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Node:
    """A link of the ring."""

    def __init__(self) -> None:
        self.next: Node = self


class RotatingReference(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.first, self.second = Node(), Node()
        self.first.next, self.second.next = self.second, self.first
        self.cursor = self.first

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + 1 if self.cursor is self.first else hidden * 0.5
        self.cursor = self.cursor.next
        return hidden


CONSTRUCT = Construct("rotating_reference", RotatingReference, kind="py-object guard (identity)")


@CONSTRUCT.change(values=2)
def move_cursor(module: RotatingReference, value: int) -> None:
    """Put the cursor on one of the nodes."""
    module.cursor = (module.second, module.first)[value]


@CONSTRUCT.change(values=2)
def relink(module: RotatingReference, value: int) -> None:
    """Let the first node follow itself, or link the ring again."""
    module.first.next = (module.first, module.second)[value]


@CONSTRUCT.observe
def position(module: RotatingReference) -> dict[str, object]:
    """Report whether the cursor is on the first node."""
    return {"on_first": module.cursor is module.first}
