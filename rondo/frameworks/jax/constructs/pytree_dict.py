"""pytree_dict: a dict of arrays in the model; keys come, go and change their order."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from rondo.frameworks.jax.kinds import STRUCTURE
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


def entries(*names: str) -> dict[str, Any]:
    """Return a dict of one number for each name, in the order given."""
    return {name: jnp.asarray(np.float32(1 + len(name))) for name in names}


class PytreeDict(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.entries = entries("one", "three")

    def forward(self, hidden: Any) -> Any:
        for position, value in enumerate(self.entries.values()):
            hidden = hidden * (value * 0.25 + position)
        return hidden


CONSTRUCT = Construct("pytree_dict", PytreeDict, kind=STRUCTURE, guarded=True)


@CONSTRUCT.change(values=4)
def set_entries(module: PytreeDict, value: int) -> None:
    """Put other keys in, reorder them, rename one, or the usual ones."""
    names = (("three", "one"), ("one",), ("one", "seventh"), ("one", "three"))[value]
    module.entries = entries(*names)
