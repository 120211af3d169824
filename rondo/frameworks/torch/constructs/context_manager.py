"""context_manager: a user's context manager with state, entered by the forward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Scope:
    """Counts entries and hands out an amount."""

    def __init__(self) -> None:
        self.amount = 0.5
        self.depth = 0
        self.entries = 0

    def __enter__(self) -> float:
        self.depth += 1
        self.entries += 1
        return self.amount

    def __exit__(self, *details: object) -> None:
        self.depth -= 1


class ContextManager(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.scope = Scope()
        self.factor = 0.5

    @contextmanager
    def scaled(self) -> Iterator[float]:
        self.factor = -self.factor
        yield self.factor
        self.factor = -self.factor

    def forward(self, hidden: Tensor) -> Tensor:
        with self.scope as amount, self.scaled() as factor:
            return hidden * factor + amount + self.scope.depth / 8


CONSTRUCT = Construct("context_manager", ContextManager, kind="py-object guard")


@CONSTRUCT.change(values=2)
def set_amount(module: ContextManager, value: int) -> None:
    """Set the amount that entering hands out."""
    module.scope.amount = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_factor(module: ContextManager, value: int) -> None:
    """Set the factor that the other context negates."""
    module.factor = (0.25, 0.5)[value]


@CONSTRUCT.change(values=2)
def rebind_enter(module: ContextManager, value: int) -> None:
    """Give the class another `__enter__`, or one like the first."""
    sign = (-1, 1)[value]

    def enter(self: Scope) -> float:
        self.depth += 1
        self.entries += 1
        return sign * self.amount

    Scope.__enter__ = enter  # type: ignore[method-assign]


@CONSTRUCT.observe
def counts(module: ContextManager) -> dict[str, object]:
    """Report depth, entries and factor."""
    scope = module.scope
    return {"depth": scope.depth, "entries": scope.entries, "factor": module.factor}
