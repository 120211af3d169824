"""debug_nans_flag: whether the NaN that zeros lead to raises, by jax_debug_nans."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_debug_nans"


class DebugNansFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        largest = jnp.max(jnp.abs(hidden))
        return hidden, largest / largest


CONSTRUCT = Construct("debug_nans_flag", DebugNansFlag, kind=SETTING, guarded=True)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: DebugNansFlag, value: int) -> None:
    """Let NaNs be (0) or raise where one is made (1)."""
    set_flag(FLAG, FLAGS[FLAG][value])
