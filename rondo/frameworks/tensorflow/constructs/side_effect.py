"""side_effect: a counter and a list that the forward writes, which happens while tracing only."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import SIDE_EFFECT
from rondo.subjects.target import Construct


class SideEffect(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.calls = 0
        self.shapes: Any = []

    def __call__(self, hidden: Any) -> Any:
        self.calls += 1
        self.shapes.append(hidden.dtype.name)
        return hidden + float(self.calls)


CONSTRUCT = Construct("side_effect", SideEffect, kind=SIDE_EFFECT)


@CONSTRUCT.change()
def restart(module: SideEffect, value: int) -> None:
    """Count from zero again."""
    module.calls = 0
    module.shapes.clear()


@CONSTRUCT.observe
def seen(module: SideEffect) -> dict[str, object]:
    """Return the counter and the list."""
    return {"calls": module.calls, "shapes": list(module.shapes)}
