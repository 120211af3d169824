"""random_seed: draws of Paddle's generator, which is seeded anew and put back to a state."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import RANDOM
from rondo.subjects.target import Construct


class RandomSeed(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.state = paddle.get_rng_state()

    def forward(self, hidden: Any) -> Any:
        noise = paddle.randn(hidden.shape, "float32")
        return hidden + paddle.cast(noise, hidden.dtype)


CONSTRUCT = Construct("random_seed", RandomSeed, kind=RANDOM, guarded=True)


@CONSTRUCT.change(values=2)
def reseed(module: RandomSeed, value: int) -> None:
    """Seed Paddle's generator."""
    paddle.seed(value)


@CONSTRUCT.change()
def put_back(module: RandomSeed, value: int) -> None:
    """Put the generator back to the state that it had when the layer was built."""
    paddle.set_rng_state(module.state)
