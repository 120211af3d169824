"""prng_impl_flag: keys made while tracing, by jax_default_prng_impl."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_default_prng_impl"


class PrngImplFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        key = jax.random.key(3)
        return hidden + jax.random.uniform(key, (self.features,), jnp.float32).astype(hidden.dtype)


CONSTRUCT = Construct("prng_impl_flag", PrngImplFlag, kind=SETTING)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: PrngImplFlag, value: int) -> None:
    """Make new keys of another kind: threefry2x32 (0), rbg (1) or unsafe_rbg (2)."""
    set_flag(FLAG, FLAGS[FLAG][value])
