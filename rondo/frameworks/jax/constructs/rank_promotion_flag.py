"""rank_promotion_flag: broadcasting of ranks, by jax_numpy_rank_promotion."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from rondo.frameworks.jax.flags import FLAGS, set_flag
from rondo.frameworks.jax.kinds import SETTING
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct

FLAG = "jax_numpy_rank_promotion"


class RankPromotionFlag(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, hidden: Any) -> Any:
        row = jnp.asarray(np.ones((1, self.features), np.float32))
        column = jnp.asarray(np.ones(self.features, np.float32))
        return hidden * jnp.sum(row * column).astype(hidden.dtype)


CONSTRUCT = Construct("rank_promotion_flag", RankPromotionFlag, kind=SETTING, guarded=True)


@CONSTRUCT.change(values=len(FLAGS[FLAG]))
def set_flag_to(module: RankPromotionFlag, value: int) -> None:
    """Allow it (0), or raise (1)."""
    set_flag(FLAG, FLAGS[FLAG][value])
