"""partial_call: a `functools.partial` whose function, arguments and keywords change."""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from rondo.subjects.target import Construct


def shift(hidden: Tensor, *, amount: float, factor: float = 1.0) -> Tensor:
    """Scale and shift."""
    return hidden * factor + amount


def bend(hidden: Tensor, *, amount: float, factor: float = 1.0) -> Tensor:
    """Bend and shift."""
    return (hidden * factor).sin() + amount


class PartialCall(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.prepared = partial(shift, amount=0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.prepared(hidden)


CONSTRUCT = Construct("partial_call", PartialCall, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=4)
def replace(module: PartialCall, value: int) -> None:
    """Hold another partial: other keywords, another function, or one like the first."""
    module.prepared = (
        partial(shift, amount=-0.5),
        partial(shift, amount=0.5, factor=0.5),
        partial(bend, amount=0.5),
        partial(shift, amount=0.5),
    )[value]


@CONSTRUCT.change(values=3)
def edit_keywords(module: PartialCall, value: int) -> None:
    """Edit the keywords of the held partial in place."""
    module.prepared.keywords["amount"] = (1.0, -1.0, 0.5)[value]
