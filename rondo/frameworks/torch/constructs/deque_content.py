"""deque_content: a bounded deque that the forward pushes to and sums over."""

from __future__ import annotations

from collections import deque

from torch import Tensor, nn

from rondo.subjects.target import Construct


class DequeContent(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.recent: deque[float] = deque([0.25, 0.5], maxlen=3)

    def forward(self, hidden: Tensor) -> Tensor:
        total = 0.0
        for amount in self.recent:
            total = total / 2 + amount
        self.recent.append(hidden.shape[0] / 8)
        return hidden + total


CONSTRUCT = Construct("deque_content", DequeContent, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def rotate(module: DequeContent, value: int) -> None:
    """Rotate the deque in place, either way."""
    module.recent.rotate((1, -1)[value])


@CONSTRUCT.change(values=2)
def push_left(module: DequeContent, value: int) -> None:
    """Push a number on the left."""
    module.recent.appendleft((-1.0, 0.75)[value])


@CONSTRUCT.change(values=3)
def replace_recent(module: DequeContent, value: int) -> None:
    """Hold a deque of another bound, an empty one, or one like the first."""
    module.recent = (
        deque([0.25, 0.5], maxlen=2),
        deque(maxlen=3),
        deque([0.25, 0.5], maxlen=3),
    )[value]


@CONSTRUCT.observe
def contents(module: DequeContent) -> dict[str, object]:
    """Report the deque's content and bound."""
    return {"recent": list(module.recent), "bound": module.recent.maxlen}
