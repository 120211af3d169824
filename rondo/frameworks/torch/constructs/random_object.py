"""random_object: a `random.Random` of the module, drawn from on each call.

The object is a Python value whose hidden state must advance exactly as often as it would in eager,
and a draw is no constant.
"""

from __future__ import annotations

import random
from hashlib import blake2b

from torch import Tensor, nn

from rondo.subjects.target import Construct


class RandomObject(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.source = random.Random(1234)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.source.random()


CONSTRUCT = Construct("random_object", RandomObject, kind="baked trace-time state")


@CONSTRUCT.change(values=3)
def reseed(module: RandomObject, value: int) -> None:
    """Seed the object anew."""
    module.source.seed((7, 99, 1234)[value])


@CONSTRUCT.change()
def draw_outside(module: RandomObject, value: int) -> None:
    """Draw once outside of the forward."""
    module.source.random()


@CONSTRUCT.change(values=2)
def replace_source(module: RandomObject, value: int) -> None:
    """Put another object in the place of the held one."""
    module.source = random.Random((5, 1234)[value])


@CONSTRUCT.observe
def state(module: RandomObject) -> dict[str, object]:
    """Report a digest of the object's state."""
    return {"source": blake2b(repr(module.source.getstate()).encode(), digest_size=8).hexdigest()}
