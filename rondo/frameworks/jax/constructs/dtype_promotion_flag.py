"""dtype_promotion_flag: mixed dtypes, by jax_numpy_dtype_promotion."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_numpy_dtype_promotion"


class DtypePromotionFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        mixed = jnp.asarray(np.float16(0.5)) + jnp.asarray(np.float32(0.25))
        return jax.lax.mul(hidden, mixed.astype(hidden.dtype) + jnp.zeros_like(hidden))


CONSTRUCT = Construct("dtype_promotion_flag", DtypePromotionFlag, kind=SETTING, guarded=True)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: DtypePromotionFlag, value: int) -> None:
    """Promote (0), or raise where dtypes are mixed (1)."""
    set_flag(FLAG, FLAGS[FLAG][value])
