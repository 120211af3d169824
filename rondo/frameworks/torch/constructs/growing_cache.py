"""growing_cache: a tensor the module keeps, to which each call appends until it is cut back.

The shape of a key-value cache: an attribute whose size is another on every call.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class GrowingCache(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.rows = torch.zeros(1, features)

    def forward(self, hidden: Tensor) -> Tensor:
        row = hidden.detach().flatten(0, -2).sum(0, keepdim=True).tanh()
        self.rows = torch.cat([self.rows, row.to(self.rows.dtype)])[-6:]
        weights = torch.softmax(self.rows.sum(-1), 0)
        return hidden + (weights @ self.rows).to(hidden.dtype)


CONSTRUCT = Construct("growing_cache", GrowingCache, kind="dynamic specialisation", guarded=True)


@CONSTRUCT.change(values=3)
def cut(module: GrowingCache, value: int) -> None:
    """Keep no row, one row, or the last three of the cache."""
    module.rows = module.rows[(slice(0), slice(1), slice(-3, None))[value]].clone()


@CONSTRUCT.change(values=2)
def set_dtype(module: GrowingCache, value: int) -> None:
    """Hold the cache in another dtype."""
    module.rows = module.rows.to((torch.float64, torch.float32)[value])


@CONSTRUCT.observe
def cached(module: GrowingCache) -> dict[str, object]:
    """Report the rows kept."""
    return {"rows": module.rows}
