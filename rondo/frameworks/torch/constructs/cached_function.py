"""cached_function: a function under `lru_cache` that reads a global at its first call only.

Dynamo says that it traces through the cache; a change of the global clears the cache, so that a
user would see the same with and without one.
"""

from __future__ import annotations

from functools import lru_cache

from torch import Tensor, nn

from rondo.subjects.target import Construct

base = 0.5


@lru_cache
def amount(step: int) -> float:
    """Return the amount of a step."""
    return base + step / 4


class CachedFunction(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.step = 1
        # The cache belongs to the process: begin each life with an empty one.
        amount.cache_clear()

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * 0.5 + amount(self.step)


CONSTRUCT = Construct("cached_function", CachedFunction, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_step(module: CachedFunction, value: int) -> None:
    """Set the argument of the cached function."""
    module.step = (2, True, 1)[value]


@CONSTRUCT.change(values=2)
def set_base(module: CachedFunction, value: int) -> None:
    """Set the global that the body reads, and clear the cache."""
    global base
    base = (-1.0, 0.5)[value]
    amount.cache_clear()
