"""optional_attribute: an attribute that is looked for by `hasattr` and by a default."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class OptionalAttribute(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.base = 1.0

    def forward(self, hidden: Any) -> Any:
        if hasattr(self, "bonus"):
            hidden = hidden + self.bonus
        return hidden * getattr(self, "gain", self.base)


CONSTRUCT = Construct("optional_attribute", OptionalAttribute, kind=ATTRIBUTE)


@CONSTRUCT.change(values=2)
def set_bonus(module: OptionalAttribute, value: int) -> None:
    """Add the attribute that `hasattr` looks for."""
    module.bonus = (1.0, 2.0)[value]


@CONSTRUCT.change(values=2)
def set_gain(module: OptionalAttribute, value: int) -> None:
    """Add the attribute that has a default."""
    module.gain = (0.5, 2.0)[value]


@CONSTRUCT.change()
def drop(module: OptionalAttribute, value: int) -> None:
    """Take both away."""
    for name in ("bonus", "gain"):
        if hasattr(module, name):
            delattr(module, name)
