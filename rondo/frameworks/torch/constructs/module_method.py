"""module_method: methods of the module's own class and of a layer's class, rebound on the class."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Layer(nn.Module):
    """A layer with each sort of method."""

    def bend(self, hidden: Tensor) -> Tensor:
        return hidden.sin()

    @staticmethod
    def amount() -> float:
        return 0.5

    @classmethod
    def factor(cls) -> float:
        return 0.75

    def forward(self, hidden: Tensor) -> Tensor:
        return self.bend(hidden) * self.factor() + self.amount()


class ModuleMethod(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layer = Layer()

    def tilt(self, hidden: Tensor) -> Tensor:
        return hidden * 0.5

    def forward(self, hidden: Tensor) -> Tensor:
        return self.tilt(self.layer(hidden))


CONSTRUCT = Construct("module_method", ModuleMethod, kind="module guard")


@CONSTRUCT.change(values=2)
def rebind_own(module: ModuleMethod, value: int) -> None:
    """Give the construct's class another method."""
    factor = (-1.0, 0.5)[value]
    ModuleMethod.tilt = lambda self, hidden: hidden * factor  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def rebind_method(module: ModuleMethod, value: int) -> None:
    """Give the layer's class another method."""
    Layer.bend = (lambda self, hidden: hidden.cos(), lambda self, hidden: hidden.sin())[value]  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def rebind_static(module: ModuleMethod, value: int) -> None:
    """Give the layer's class another static method."""
    amount = (-0.5, 0.5)[value]
    Layer.amount = staticmethod(lambda: amount)  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def rebind_class_method(module: ModuleMethod, value: int) -> None:
    """Give the layer's class another class method."""
    factor = (-0.25, 0.75)[value]
    Layer.factor = classmethod(lambda cls: factor)  # type: ignore[method-assign, assignment]


@CONSTRUCT.change(values=2)
def shadow_method(module: ModuleMethod, value: int) -> None:
    """Shadow the method on the layer itself, or take the shadow away."""
    module.layer.__dict__.pop("bend", None)
    if value == 0:
        module.layer.__dict__["bend"] = lambda hidden: hidden.tanh()
