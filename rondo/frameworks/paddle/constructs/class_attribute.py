"""class_attribute: a class attribute, a property and a method of the class, set on the class."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import NAME
from rondo.subjects.target import Construct


def moved(self: Any, hidden: Any) -> Any:
    """Another method."""
    return hidden + 4.0


class ClassAttribute(paddle.nn.Layer):
    factor = 1.0

    def __init__(self, features: int) -> None:
        super().__init__()

    @property
    def doubled(self) -> float:
        return self.factor * 2.0

    def shifted(self, hidden: Any) -> Any:
        return hidden + 0.0

    def forward(self, hidden: Any) -> Any:
        return self.shifted(hidden) * self.factor + self.doubled


CONSTRUCT = Construct("class_attribute", ClassAttribute, kind=NAME, guarded=True)


@CONSTRUCT.change(values=2)
def set_factor(module: ClassAttribute, value: int) -> None:
    """Give the class attribute another value."""
    ClassAttribute.factor = (3.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def shadow(module: ClassAttribute, value: int) -> None:
    """Give the instance an attribute of that name (0), or take it away (1)."""
    if value == 0:
        module.factor = 5.0
    elif "factor" in vars(module):
        del module.factor


@CONSTRUCT.change()
def set_method(module: ClassAttribute, value: int) -> None:
    """Put another method into the class."""
    ClassAttribute.shifted = moved  # type: ignore[method-assign]
