"""literal_argument: Python numbers passed as an argument that compare equal and differ in type."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import ARGUMENT
from rondo.subjects.target import Construct


class LiteralArgument(tf.Module):
    passed = ("literal",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.literal: Any = 1

    def __call__(self, hidden: Any, literal: Any) -> Any:
        return hidden, tf.convert_to_tensor(literal)


CONSTRUCT = Construct("literal_argument", LiteralArgument, kind=ARGUMENT)


@CONSTRUCT.change(values=6)
def set_literal(module: LiteralArgument, value: int) -> None:
    """Pass 1, True, 1.0, 0, False or 2 from now on."""
    module.literal = (1, True, 1.0, 0, False, 2)[value]
