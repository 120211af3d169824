"""random_integer: integers drawn from a `random.Random` of the module on each call.

An integer that was drawn while tracing looks like any other constant: it becomes one unless the
draw itself is part of what is compiled, and the state of the object must advance all the same.
"""

from __future__ import annotations

import random
from hashlib import blake2b

from torch import Tensor, nn

from rondo.subjects.target import Construct


class RandomInteger(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.source = random.Random(1234)
        self.highest = 64

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.source.randint(1, self.highest)


CONSTRUCT = Construct("random_integer", RandomInteger, kind="baked trace-time state")


@CONSTRUCT.change(values=3)
def reseed(module: RandomInteger, value: int) -> None:
    """Seed the object anew."""
    module.source.seed((7, 99, 1234)[value])


@CONSTRUCT.change(values=2)
def set_highest(module: RandomInteger, value: int) -> None:
    """Set the highest integer that may be drawn."""
    module.highest = (3, 64)[value]


@CONSTRUCT.observe
def state(module: RandomInteger) -> dict[str, object]:
    """Report a digest of the object's state."""
    return {"source": blake2b(repr(module.source.getstate()).encode(), digest_size=8).hexdigest()}
