"""seed_offset_flag: an offset to all seeds, by jax_random_seed_offset."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_random_seed_offset"


class SeedOffsetFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        key = jax.random.key(3, impl="threefry2x32")
        return hidden + jax.random.uniform(key, (self.features,), jnp.float32).astype(hidden.dtype)


CONSTRUCT = Construct("seed_offset_flag", SeedOffsetFlag, kind=SETTING, guarded=True)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: SeedOffsetFlag, value: int) -> None:
    """Set the offset to 0 or to 7."""
    set_flag(FLAG, FLAGS[FLAG][value])
