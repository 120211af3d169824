"""key_type: dict keys that are equal but of different types: 1, True and 1.0.

Dicts compare keys by equality, so a guard on keys that does the same lets an int pass for a bool;
the key is used as data here, where the type decides on a dtype.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class KeyType(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.table: dict[float, float] = {1: 0.5}

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        filled = torch.zeros(2)
        for key, amount in self.table.items():
            filled = torch.full((2,), key)
            hidden = hidden * amount
        return hidden, filled


CONSTRUCT = Construct("key_type", KeyType, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=5)
def replace_table(module: KeyType, value: int) -> None:
    """Hold a dict with an equal key of another type, another key, no key, or as it was."""
    tables: tuple[dict[float, float], ...] = ({True: 0.5}, {1.0: 0.5}, {2: 0.5}, {}, {1: 0.5})
    module.table = tables[value]


@CONSTRUCT.change(values=3)
def rename_key(module: KeyType, value: int) -> None:
    """Put an equal key of another type in place of the first, in the same dict."""
    key = (True, 1.0, 1)[value]
    module.table.clear()
    module.table[key] = 0.5
