"""random_seed_field: a seed in the model, from which the forward makes its random key."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class RandomSeedField(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.rate = 0.5
        self.seed = jnp.asarray(3, jnp.uint32)

    def forward(self, hidden: Any) -> Any:
        key = jax.random.wrap_key_data(jnp.stack([self.seed, self.seed]), impl="threefry2x32")
        noise = jax.random.uniform(key, (self.features,), jnp.float32)
        return jnp.where(noise < self.rate, hidden, jnp.zeros_like(hidden))


CONSTRUCT = Construct("random_seed_field", RandomSeedField, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=3)
def set_seed(module: RandomSeedField, value: int) -> None:
    """Use the key of another seed."""
    module.seed = jnp.asarray((4, 5, 3)[value], jnp.uint32)


@CONSTRUCT.change(values=2)
def set_rate(module: RandomSeedField, value: int) -> None:
    """Keep another share."""
    module.rate = (0.25, 0.5)[value]
