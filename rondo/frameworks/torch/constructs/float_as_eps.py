"""float_as_eps: a Python float that is a tensor factor and the eps of a normalisation at once.

From its second value on the float becomes symbolic: the factor is taken out of the graph as a
tensor while the operator parameter is specialised. Both halves must agree on every later value.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import rms_norm

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class FloatAsEps(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.shape = (features,)
        self.floor = 1.25

    def forward(self, hidden: Tensor, scale: float) -> Tensor:
        return rms_norm(hidden * scale, self.shape, eps=scale + self.floor)


CONSTRUCT = Construct(
    "float_as_eps",
    FloatAsEps,
    kind="compile-cache key",
    inputs=(InputSpec("scale", kind="number"),),
)


@CONSTRUCT.change(values=3)
def set_floor(module: FloatAsEps, value: int) -> None:
    """Give the constant part of eps another value."""
    module.floor = (2.0, 4.0, 1.25)[value]
