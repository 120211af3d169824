"""float_as_bound: a Python float that bounds a gated activation from one side and from two."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import silu

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class FloatAsBound(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 0.25

    def forward(self, hidden: Tensor, limit: float) -> Tensor:
        gate = silu(hidden).clamp(max=limit)
        return gate * hidden.clamp(min=-limit, max=limit) * self.factor


CONSTRUCT = Construct(
    "float_as_bound",
    FloatAsBound,
    kind="compile-cache key",
    inputs=(InputSpec("limit", kind="number"),),
)


@CONSTRUCT.change(values=3)
def set_factor(module: FloatAsBound, value: int) -> None:
    """Give the factor behind the bounds another value."""
    module.factor = (-0.25, 0.5, 0.25)[value]
