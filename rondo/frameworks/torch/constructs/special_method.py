"""special_method: `__call__`, `__bool__`, `__len__` and `__getitem__` of a class, rebound later.

Python looks special methods up on the type and never on the instance, so the class is the only
place where a guard could stand.
"""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Policy:
    """An object that is called, indexed, measured and tested for truth."""

    def __call__(self, hidden: Tensor) -> Tensor:
        return hidden.sin()

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> float:
        return 0.25


class SpecialMethod(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.policy = Policy()

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = self.policy(hidden) * self.policy[0]
        if self.policy:
            hidden = hidden + 1
        return hidden / len(self.policy)


CONSTRUCT = Construct("special_method", SpecialMethod, kind="py-object guard")


@CONSTRUCT.change(values=2)
def rebind_call(module: SpecialMethod, value: int) -> None:
    """Give the class another `__call__`."""
    Policy.__call__ = (  # type: ignore[method-assign]
        lambda self, hidden: hidden.cos(),
        lambda self, hidden: hidden.sin(),
    )[value]


@CONSTRUCT.change(values=2)
def rebind_bool(module: SpecialMethod, value: int) -> None:
    """Give the class another `__bool__`."""
    truth = value == 1
    Policy.__bool__ = lambda self: truth  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def rebind_length(module: SpecialMethod, value: int) -> None:
    """Give the class another `__len__`."""
    length = (4, 2)[value]
    Policy.__len__ = lambda self: length  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def rebind_item(module: SpecialMethod, value: int) -> None:
    """Give the class another `__getitem__`."""
    item = (0.5, 0.25)[value]
    Policy.__getitem__ = lambda self, index: item  # type: ignore[method-assign]
