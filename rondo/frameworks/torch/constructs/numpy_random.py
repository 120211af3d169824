"""numpy_random: draws from numpy's global generator and from one that the module holds.

Dynamo documents that numpy calls which it turns into tensor code draw from torch's generator
(`use_numpy_random_stream`), so the draws are taken as numbers, outside of any graph.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from rondo.subjects.target import Construct


class NumpyRandom(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.source = np.random.default_rng(5)
        self.draws = 1

    def forward(self, hidden: Tensor) -> Tensor:
        for _ in range(self.draws):
            hidden = hidden.sin() + float(self.source.uniform())
        return hidden + float(np.random.uniform(0.0, 1.0))


CONSTRUCT = Construct("numpy_random", NumpyRandom, kind="baked trace-time state")


@CONSTRUCT.change(values=3)
def set_draws(module: NumpyRandom, value: int) -> None:
    """Set how often a call draws from the held generator."""
    module.draws = (0, 2, 1)[value]


@CONSTRUCT.change(values=2)
def replace_source(module: NumpyRandom, value: int) -> None:
    """Hold another generator."""
    module.source = np.random.default_rng((9, 5)[value])


@CONSTRUCT.change(values=2)
def reseed(module: NumpyRandom, value: int) -> None:
    """Seed the global generator."""
    np.random.seed((3, 0)[value])
