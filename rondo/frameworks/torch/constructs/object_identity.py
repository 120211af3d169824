"""object_identity: a branch on `a is b` between held objects, while one name moves among them.

The branch depends on a relation between two references, not on either of them: guards that check
each object by itself still pass after the relation has changed.
"""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Node:
    """An object with nothing but an identity."""


class Ring:
    """Three nodes and a cursor that refers to one of them."""

    def __init__(self) -> None:
        self.first = Node()
        self.second = Node()
        self.third = Node()
        self.cursor = self.first


class ObjectIdentity(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.ring = Ring()

    def forward(self, hidden: Tensor) -> Tensor:
        if self.ring.cursor is self.ring.first:
            return hidden + 1
        return hidden * 0.5


CONSTRUCT = Construct("object_identity", ObjectIdentity, kind="py-object guard (identity)")


@CONSTRUCT.change(values=3)
def move_cursor(module: ObjectIdentity, value: int) -> None:
    """Let the cursor refer to another node."""
    ring = module.ring
    ring.cursor = (ring.first, ring.second, ring.third)[value]


@CONSTRUCT.change(values=2)
def renew_node(module: ObjectIdentity, value: int) -> None:
    """Put a new node in the place of one that the cursor may refer to."""
    setattr(module.ring, ("first", "second")[value], Node())
