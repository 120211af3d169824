"""while_loop: a loop whose number of rounds is a traced argument."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from rondo.frameworks.jax.kinds import TRANSFORMATION
from rondo.frameworks.jax.module import Module
from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class WhileLoop(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.step = 1

    def forward(self, hidden: Any, rounds: Any) -> Any:
        limit = jnp.clip(jnp.asarray(rounds, jnp.int32), 0, 5)

        def unfinished(carry: Any) -> Any:
            return carry[0] < limit

        def advance(carry: Any) -> Any:
            count, x = carry
            return count + self.step, x * 0.5

        start = (jnp.zeros((), jnp.int32), jax.lax.stop_gradient(hidden))
        return hidden + jax.lax.while_loop(unfinished, advance, start)[1]


CONSTRUCT = Construct(
    "while_loop",
    WhileLoop,
    kind=TRANSFORMATION,
    inputs=(InputSpec("rounds", kind="integer"),),
    guarded=True,
)


@CONSTRUCT.change(values=2)
def set_step(module: WhileLoop, value: int) -> None:
    """Count in twos, or in ones."""
    module.step = (2, 1)[value]
