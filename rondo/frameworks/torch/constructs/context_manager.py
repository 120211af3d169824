"""context_manager: users' context managers that count, negate and hand out state of the module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Meter:
    """What a scope reads and counts."""

    def __init__(self) -> None:
        self.amount = 0.5
        self.depth = 0
        self.entries = 0


class Scope:
    """A context manager made anew by each call."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def __enter__(self) -> float:
        self.meter.depth += 1
        self.meter.entries += 1
        return self.meter.amount

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.meter.depth -= 1


@contextmanager
def negated(module: ContextManager) -> Iterator[float]:
    """Hand out the module's factor, negated as long as the context lasts."""
    module.factor = -module.factor
    try:
        yield module.factor
    finally:
        module.factor = -module.factor


class ContextManager(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.meter = Meter()
        self.factor = 0.5

    def forward(self, hidden: Tensor) -> Tensor:
        with Scope(self.meter) as amount, negated(self) as factor:
            return hidden * factor + amount + self.meter.depth / 8


CONSTRUCT = Construct("context_manager", ContextManager, kind="py-object guard")


@CONSTRUCT.change(values=2)
def set_amount(module: ContextManager, value: int) -> None:
    """Set the amount that entering hands out."""
    module.meter.amount = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_factor(module: ContextManager, value: int) -> None:
    """Set the factor that the other context negates."""
    module.factor = (0.25, 0.5)[value]


@CONSTRUCT.change(values=2)
def rebind_enter(module: ContextManager, value: int) -> None:
    """Give the class another `__enter__`, or one like the first."""
    sign = (-1, 1)[value]

    def enter(self: Scope) -> float:
        self.meter.depth += 1
        self.meter.entries += 1
        return sign * self.meter.amount

    Scope.__enter__ = enter  # type: ignore[method-assign]


@CONSTRUCT.observe
def counts(module: ContextManager) -> dict[str, object]:
    """Report depth, entries and factor."""
    meter = module.meter
    return {"depth": meter.depth, "entries": meter.entries, "factor": module.factor}
