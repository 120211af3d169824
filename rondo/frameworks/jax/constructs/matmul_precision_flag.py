"""matmul_precision_flag: the precision of matrix products, by jax_default_matmul_precision."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_default_matmul_precision"


class MatmulPrecisionFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        weights = jnp.asarray(np.eye(self.features, dtype=np.float32), hidden.dtype)
        return jnp.matmul(hidden, weights)


CONSTRUCT = Construct("matmul_precision_flag", MatmulPrecisionFlag, kind=SETTING, guarded=True)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: MatmulPrecisionFlag, value: int) -> None:
    """Set the precision: default (0), bfloat16 (1) or highest (2)."""
    set_flag(FLAG, FLAGS[FLAG][value])
