"""method_table: a tf.function method of two objects that are equal and differ in what they read."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import NESTED
from rondo.subjects.target import Construct


class Scale:
    """Equal by name alone: TensorFlow keeps one bound function for equal objects."""

    def __init__(self, name: str, factor: float) -> None:
        self.name = name
        self.factor = tf.Variable(factor, trainable=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scale) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @tf.function
    def apply(self, hidden: Any) -> Any:
        return hidden * tf.cast(self.factor, hidden.dtype)


class MethodTable(tf.Module):
    passed = ("which",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.scales = {"first": Scale("one", 1.0), "second": Scale("two", 2.0)}
        self.which = "first"

    def __call__(self, hidden: Any, which: str) -> Any:
        return self.scales[which].apply(hidden)


CONSTRUCT = Construct("method_table", MethodTable, kind=NESTED, guarded=True)


@CONSTRUCT.change(values=2)
def choose(module: MethodTable, value: int) -> None:
    """Call the method of the second (0) or first (1) object."""
    module.which = ("second", "first")[value]


@CONSTRUCT.change(values=2)
def assign(module: MethodTable, value: int) -> None:
    """Assign the second object's variable."""
    module.scales["second"].factor.assign((3.0, 2.0)[value])
