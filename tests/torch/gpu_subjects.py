"""Models that do a GPU harm once they are compiled, as `--subject` names them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import rondo
from rondo.subjects.user import UserSubject

ROWS = 4


class Stray(nn.Module):
    """Reads outside of a table, in compiled code alone: an assertion of the device."""

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.arange(x.shape[0], device=x.device)
        if torch.compiler.is_compiling():
            rows = rows + ROWS
        return x + x.new_ones(ROWS).index_select(0, rows).sum()


class Hungry(nn.Module):
    """Takes 2 GiB in compiled code alone, and uses them."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            x = x + x.new_ones(1 << 29).cumsum(0)[0]
        return x + 1


def stray() -> UserSubject:
    return rondo.subject(Stray, torch.ones(2, 3), backends=["aot_eager"])


def hungry() -> UserSubject:
    return rondo.subject(Hungry, torch.ones(2, 3), backends=["aot_eager"])
