"""float_as_delta: a Python float that is the delta of an elementwise Huber loss and a factor."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import huber_loss

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class FloatAsDelta(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.slack = 1.25

    def forward(self, hidden: Tensor, delta: float) -> Tensor:
        width = delta + self.slack
        loss = huber_loss(hidden * delta, hidden, reduction="none", delta=width)
        return loss / 16


CONSTRUCT = Construct(
    "float_as_delta",
    FloatAsDelta,
    kind="compile-cache key",
    inputs=(InputSpec("delta", kind="number"),),
)


@CONSTRUCT.change(values=3)
def set_slack(module: FloatAsDelta, value: int) -> None:
    """Give the constant part of the width another value."""
    module.slack = (2.0, 4.0, 1.25)[value]
