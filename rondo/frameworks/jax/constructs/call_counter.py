"""call_counter: a counter outside of the model that the forward increments and reads."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.kinds import SIDE_EFFECT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Counter:
    """Counts calls and keeps their shapes."""

    def __init__(self) -> None:
        self.calls = 0
        self.shapes: list[tuple[int, ...]] = []


class CallCounter(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.counter = Counter()

    def forward(self, hidden: Any) -> Any:
        self.counter.calls += 1
        self.counter.shapes = [*self.counter.shapes[-3:], tuple(hidden.shape)]
        return hidden + 0.125 * (self.counter.calls % 4)


CONSTRUCT = Construct("call_counter", CallCounter, kind=SIDE_EFFECT)


@CONSTRUCT.observe
def observe(module: CallCounter) -> dict[str, object]:
    """Report what was counted."""
    return {"calls": module.counter.calls, "shapes": module.counter.shapes}


@CONSTRUCT.change()
def start_over(module: CallCounter, value: int) -> None:
    """Start counting from zero."""
    module.counter.calls = 0
