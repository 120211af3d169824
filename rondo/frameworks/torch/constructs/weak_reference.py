"""weak_reference: a weak reference whose referent is exchanged or dies."""

from __future__ import annotations

import weakref

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Owner:
    """An object that is referred to weakly."""

    def __init__(self, amount: float) -> None:
        self.amount = amount


class WeakReference(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.kept: Owner | None = Owner(0.5)
        assert self.kept is not None
        self.reference = weakref.ref(self.kept)

    def forward(self, hidden: Tensor) -> Tensor:
        owner = self.reference()
        return -hidden if owner is None else hidden + owner.amount


CONSTRUCT = Construct("weak_reference", WeakReference, kind="py-object guard", guarded=True)


@CONSTRUCT.change()
def let_die(module: WeakReference, value: int) -> None:
    """Drop the only strong reference."""
    module.kept = None


@CONSTRUCT.change(values=2)
def refer_anew(module: WeakReference, value: int) -> None:
    """Refer to another object."""
    module.kept = Owner((-0.5, 0.5)[value])
    module.reference = weakref.ref(module.kept)


@CONSTRUCT.change(values=2)
def set_amount(module: WeakReference, value: int) -> None:
    """Set the attribute of the referent, if it lives."""
    if module.kept is not None:
        module.kept.amount = (1.0, 0.5)[value]
