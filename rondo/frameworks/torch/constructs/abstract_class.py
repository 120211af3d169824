"""abstract_class: an instance check against an abstract class that classes may be registered with.

`ABC.register` changes what `isinstance` says of objects that exist, and touches neither the object
nor its class.
"""

from __future__ import annotations

from abc import ABC
from typing import Any

from torch import Tensor, nn

from rondo.subjects.target import Construct


class AbstractClass(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

        class Scaled(ABC):  # noqa: B024  (what makes it abstract is of no matter)
            pass

        class Plain:
            pass

        self.kind: Any = Scaled
        self.member: Any = Plain()

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * 0.5 if isinstance(self.member, self.kind) else hidden + 1


CONSTRUCT = Construct("abstract_class", AbstractClass, kind="py-object guard")


@CONSTRUCT.change()
def register(module: AbstractClass, value: int) -> None:
    """Register the member's class with the abstract one; there is no way back."""
    module.kind.register(type(module.member))


@CONSTRUCT.change()
def replace_member(module: AbstractClass, value: int) -> None:
    """Hold an object of another class, which is not registered."""
    module.member = type("Plain", (), {})()
