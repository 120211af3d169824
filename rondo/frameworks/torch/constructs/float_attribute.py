"""float_attribute: a Python float on the module, used as a factor."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class FloatAttribute(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * self.factor


CONSTRUCT = Construct("float_attribute", FloatAttribute, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=4)
def set_factor(module: FloatAttribute, value: int) -> None:
    """Give the factor another value."""
    module.factor = (0.5, 2.0, 1.0, 0.0)[value]
