"""x64_flag: the width of default dtypes, by jax_enable_x64."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_enable_x64"


class X64Flag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        wide = jnp.arange(3.0).dtype == jnp.float64
        return hidden * (2.0 if wide else 1.0)


CONSTRUCT = Construct("x64_flag", X64Flag, kind=SETTING, guarded=True)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: X64Flag, value: int) -> None:
    """Let new arrays be 32 bits wide (0) or 64 (1)."""
    set_flag(FLAG, FLAGS[FLAG][value])
