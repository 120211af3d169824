"""not_a_number: a float attribute that may be NaN, which equals nothing, itself included.

A guard by equality never passes for NaN (a compile on each call), a guard by identity fails for
another NaN object; both have been seen to turn into a wrong branch.
"""

from __future__ import annotations

import math

from torch import Tensor, nn

from rondo.subjects.target import Construct


class NotANumber(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.fill = math.nan

    def forward(self, hidden: Tensor) -> Tensor:
        if math.isnan(self.fill):
            return hidden * 0.5
        return hidden.clamp(max=self.fill)


CONSTRUCT = Construct("not_a_number", NotANumber, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=5)
def set_fill(module: NotANumber, value: int) -> None:
    """Give the attribute another value: infinite, finite, another NaN, or the first NaN."""
    module.fill = (math.inf, 0.5, float("nan"), -0.5, math.nan)[value]
