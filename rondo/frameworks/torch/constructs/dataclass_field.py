"""dataclass_field: fields of a dataclass and of a frozen one, set, replaced, or forced."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn

from rondo.subjects.target import Construct


@dataclass
class Settings:
    """Settings that may be set."""

    gain: float = 0.5
    negated: bool = False


@dataclass(frozen=True)
class Frozen:
    """Settings that may not be set, except by those who insist."""

    shift: float = 0.25


class DataclassField(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.settings = Settings()
        self.frozen = Frozen()

    def forward(self, hidden: Tensor) -> Tensor:
        if self.settings == Settings(gain=0.5):
            hidden = hidden.sin()
        if self.settings.negated:
            hidden = -hidden
        return hidden * self.settings.gain + self.frozen.shift


CONSTRUCT = Construct("dataclass_field", DataclassField, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_gain(module: DataclassField, value: int) -> None:
    """Set a field."""
    module.settings.gain = (-1.0, 0.25, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_negated(module: DataclassField, value: int) -> None:
    """Set the other field."""
    module.settings.negated = value == 0


@CONSTRUCT.change(values=3)
def replace_frozen(module: DataclassField, value: int) -> None:
    """Hold a frozen dataclass of another value."""
    module.frozen = replace(module.frozen, shift=(1.0, -0.5, 0.25)[value])


@CONSTRUCT.change(values=2)
def force_frozen(module: DataclassField, value: int) -> None:
    """Force another value into the frozen dataclass."""
    object.__setattr__(module.frozen, "shift", (0.75, 0.25)[value])
