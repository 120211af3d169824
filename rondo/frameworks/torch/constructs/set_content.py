"""set_content: membership tests in a set and a frozenset, whose members come and go."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class SetContent(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.enabled = {"bend", "shift"}
        self.sizes = frozenset({2, 3})

    def forward(self, hidden: Tensor) -> Tensor:
        if "bend" in self.enabled:
            hidden = hidden.sin()
        if "shift" in self.enabled:
            hidden = hidden + 1
        if hidden.shape[0] in self.sizes:
            hidden = hidden * 0.5
        return hidden + len(self.enabled) / 8


CONSTRUCT = Construct("set_content", SetContent, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def add(module: SetContent, value: int) -> None:
    """Add a member in place."""
    module.enabled.add(("bend", "shift", "other")[value])


@CONSTRUCT.change(values=3)
def discard(module: SetContent, value: int) -> None:
    """Discard a member in place."""
    module.enabled.discard(("bend", "shift", "other")[value])


@CONSTRUCT.change(values=4)
def replace_sizes(module: SetContent, value: int) -> None:
    """Hold another frozenset: of other members, or of equal members of another type."""
    module.sizes = (frozenset({1}), frozenset(), frozenset({2.0, 3.0}), frozenset({2, 3}))[value]  # type: ignore[assignment]
