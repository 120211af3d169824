"""debug_nans_scope: whether a NaN raises once `with jax.debug_nans(False)` was entered and left."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_debug_nans"


class DebugNansScope(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        ratio = jnp.sum(hidden) * 0.0
        return hidden, ratio / ratio


CONSTRUCT = Construct("debug_nans_scope", DebugNansScope, kind=SETTING)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: DebugNansScope, value: int) -> None:
    """Let NaNs be (0) or raise where one is made (1)."""
    set_flag(FLAG, FLAGS[FLAG][value])


@CONSTRUCT.change()
def visit_scope(module: DebugNansScope, value: int) -> None:
    """Enter and leave a scope in which NaNs are allowed."""
    with jax.debug_nans(False):
        jax.block_until_ready(())
