"""class_method: a method found on the class of a held object, rebound on the class later."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Activation:
    """A plain object whose method the forward calls."""

    def apply(self, hidden: Tensor) -> Tensor:
        return hidden + 1


class ClassMethod(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.activation = Activation()

    def forward(self, hidden: Tensor) -> Tensor:
        return self.activation.apply(hidden) * 2


CONSTRUCT = Construct("class_method", ClassMethod, kind="py-object guard")


@CONSTRUCT.change(values=2)
def rebind_on_class(module: ClassMethod, value: int) -> None:
    """Give the class another method of the same name."""
    shift = (20.0, -4.0)[value]
    Activation.apply = lambda self, hidden: hidden + shift  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def rebind_on_instance(module: ClassMethod, value: int) -> None:
    """Shadow the method on the instance, or take the shadow away."""
    if value:
        module.activation.__dict__.pop("apply", None)
    else:
        module.activation.apply = lambda hidden: hidden - 4  # type: ignore[method-assign]
