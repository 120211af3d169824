"""partitionable_flag: how random bits are counted, by jax_threefry_partitionable."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_threefry_partitionable"


class PartitionableFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        key = jax.random.key(3, impl="threefry2x32")
        bits = jax.random.uniform(key, (self.features, 3), jnp.float32)
        return hidden + bits[:, 0].astype(hidden.dtype)


CONSTRUCT = Construct("partitionable_flag", PartitionableFlag, kind=SETTING, guarded=True)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: PartitionableFlag, value: int) -> None:
    """Count partitionably (0) or as before (1)."""
    set_flag(FLAG, FLAGS[FLAG][value])
