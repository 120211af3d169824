"""property_getter: a property of a plain class and one of the module, their getters replaced."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


def read_gain(settings: object) -> float:
    """Return the gain; the code of this getter is replaced later."""
    return 0.5


class Settings:
    """An object whose gain is computed."""

    gain = property(read_gain)


class PropertyGetter(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.settings = Settings()
        self.amount = 0.25

    @property
    def shift(self) -> float:
        return self.amount * 2

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * self.settings.gain + self.shift


CONSTRUCT = Construct("property_getter", PropertyGetter, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def replace_property(module: PropertyGetter, value: int) -> None:
    """Put another property, a plain value, or the first property on the class."""
    Settings.gain = (property(lambda settings: -0.5), 0.75, property(read_gain))[value]  # type: ignore[assignment]


@CONSTRUCT.change(values=2)
def swap_getter_code(module: PropertyGetter, value: int) -> None:
    """Give the getter other code."""
    read_gain.__code__ = ((lambda settings: 1.0).__code__, (lambda settings: 0.5).__code__)[value]


@CONSTRUCT.change(values=2)
def replace_module_property(module: PropertyGetter, value: int) -> None:
    """Put another property on the module's class."""
    PropertyGetter.shift = (  # type: ignore[method-assign, assignment]
        property(lambda self: self.amount * -2),
        property(lambda self: self.amount * 2),
    )[value]


@CONSTRUCT.change(values=3)
def set_amount(module: PropertyGetter, value: int) -> None:
    """Give the attribute that the module's property reads another value."""
    module.amount = (0.5, -0.25, 0.25)[value]
