"""gumbel_flag: how Gumbel noise is drawn, by jax_high_dynamic_range_gumbel."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_high_dynamic_range_gumbel"


class GumbelFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        key = jax.random.key(3, impl="threefry2x32")
        noise = jax.random.gumbel(key, (self.features,), jnp.float32)
        return hidden + noise.astype(hidden.dtype)


CONSTRUCT = Construct("gumbel_flag", GumbelFlag, kind=SETTING)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: GumbelFlag, value: int) -> None:
    """Draw in the usual way (0) or with a high dynamic range (1)."""
    set_flag(FLAG, FLAGS[FLAG][value])
