"""nested_arguments: a dict, a list and a tuple of Python numbers, passed as arguments."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import ARGUMENT
from rondo.subjects.target import Construct


class NestedArguments(tf.Module):
    passed = ("weights", "steps", "pair")

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weights: dict[str, Any] = {"left": 1, "right": 2}
        self.steps: Any = [1, 2]
        self.pair: Any = (1, 2)

    def __call__(self, hidden: Any, weights: Any, steps: Any, pair: Any) -> Any:
        total = tf.zeros_like(hidden)
        for place, weight in enumerate(weights.values()):
            total += hidden * tf.cast(weight, hidden.dtype) * (place + 1.0)
        kinds = [tf.convert_to_tensor(value) for value in (*steps, *pair)]
        return total, kinds, tf.constant(len(steps) + len(pair))


CONSTRUCT = Construct("nested_arguments", NestedArguments, kind=ARGUMENT)


@CONSTRUCT.change(values=4)
def set_weight(module: NestedArguments, value: int) -> None:
    """Pass another first number in the dict: True, 1.0, 3 or 1."""
    module.weights = {**module.weights, "left": (True, 1.0, 3, 1)[value]}


@CONSTRUCT.change()
def reorder_weights(module: NestedArguments, value: int) -> None:
    """Pass a dict of equal entries in the other order."""
    module.weights = dict(reversed(module.weights.items()))


@CONSTRUCT.change(values=4)
def set_steps(module: NestedArguments, value: int) -> None:
    """Pass another list: of other types, shorter, or as a tuple, or as it was."""
    module.steps = ([True, 2.0], [1], (1, 2), [1, 2])[value]


@CONSTRUCT.change(values=3)
def set_pair(module: NestedArguments, value: int) -> None:
    """Pass another tuple: of other types, swapped, or as it was."""
    module.pair = ((True, 2.0), (2, 1), (1, 2))[value]
