"""global_seed: TensorFlow's global seed, from which a stateless draw takes its seed."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import RANDOM
from rondo.subjects.target import Construct


class GlobalSeed(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def __call__(self, hidden: Any) -> Any:
        seed = tf.compat.v1.get_seed(7)
        bits = tf.random.stateless_uniform([], seed, None, None, tf.uint32, alg="philox")
        return hidden + tf.cast(bits % 64, hidden.dtype)


CONSTRUCT = Construct("global_seed", GlobalSeed, kind=RANDOM)


@CONSTRUCT.change(values=3)
def set_seed(module: GlobalSeed, value: int) -> None:
    """Call `tf.random.set_seed`."""
    tf.random.set_seed(value)
