"""global_value: a module's global that the forward reads while it is traced."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.kinds import CAPTURED
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FACTOR = 1.0


class GlobalValue(Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def forward(self, hidden: Any) -> Any:
        return hidden * FACTOR


CONSTRUCT = Construct("global_value", GlobalValue, kind=CAPTURED)


@CONSTRUCT.change(values=3)
def set_global(module: GlobalValue, value: int) -> None:
    """Rebind the global."""
    globals()["FACTOR"] = (0.5, 2.0, 1.0)[value]
