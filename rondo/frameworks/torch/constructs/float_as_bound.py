"""float_as_bound: a Python float that bounds a gated activation from one side and from two."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import silu

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class FloatAsBound(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.slack = 0.25

    def forward(self, hidden: Tensor, limit: float) -> Tensor:
        bound = abs(limit) + self.slack
        gate = silu(hidden).clamp(max=bound)
        return gate * hidden.clamp(min=-bound, max=bound) / (1 + bound)


CONSTRUCT = Construct(
    "float_as_bound",
    FloatAsBound,
    kind="compile-cache key",
    inputs=(InputSpec("limit", kind="number"),),
)


@CONSTRUCT.change(values=3)
def set_slack(module: FloatAsBound, value: int) -> None:
    """Give the constant part of the bound another value."""
    module.slack = (1.0, 0.5, 0.25)[value]
