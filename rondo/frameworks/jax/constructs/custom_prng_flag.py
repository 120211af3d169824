"""custom_prng_flag: whether jax.random.PRNGKey makes typed keys, by jax_enable_custom_prng."""

from __future__ import annotations

from typing import Any

import jax

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_enable_custom_prng"


class CustomPrngFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        key = jax.random.PRNGKey(3)
        typed = jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)
        return hidden * (2.0 if typed else 1.0)


CONSTRUCT = Construct("custom_prng_flag", CustomPrngFlag, kind=SETTING)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: CustomPrngFlag, value: int) -> None:
    """Let PRNGKey make raw arrays (0) or typed keys (1)."""
    set_flag(FLAG, FLAGS[FLAG][value])
