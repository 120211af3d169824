"""nested_literal: a tf.function inside that gets Python numbers of equal value and other types."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import NESTED
from rondo.subjects.target import Construct


class NestedLiteral(tf.Module):
    passed = ("literal",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.literal: Any = "one"

    @tf.function
    def lift(self, literal: Any) -> Any:
        return tf.convert_to_tensor(literal)

    def __call__(self, hidden: Any, literal: Any) -> Any:
        # The outer function tells these strings apart; what the inner one gets, it does not.
        numbers = {"one": 1, "true": True, "float": 1.0, "two": 2}
        return hidden, self.lift(numbers[literal])


CONSTRUCT = Construct("nested_literal", NestedLiteral, kind=NESTED)


@CONSTRUCT.change(values=4)
def set_literal(module: NestedLiteral, value: int) -> None:
    """Have the inner function called with True, 1.0, 2 or 1."""
    module.literal = ("true", "float", "two", "one")[value]
