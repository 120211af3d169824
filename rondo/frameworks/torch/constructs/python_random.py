"""python_random: draws from the functions of `random`, whose state is global."""

from __future__ import annotations

import random

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class PythonRandom(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.draws = 1

    def forward(self, hidden: Tensor) -> Tensor:
        for _ in range(self.draws):
            hidden = hidden + random.random()
        return hidden + torch.full((), random.randint(0, 7)).to(hidden.dtype) / 8


CONSTRUCT = Construct("python_random", PythonRandom, kind="baked trace-time state")


@CONSTRUCT.change(values=3)
def set_draws(module: PythonRandom, value: int) -> None:
    """Set how often a call draws."""
    module.draws = (0, 2, 1)[value]


@CONSTRUCT.change(values=2)
def reseed(module: PythonRandom, value: int) -> None:
    """Seed the global generator."""
    random.seed((3, 0)[value])


@CONSTRUCT.change()
def draw_outside(module: PythonRandom, value: int) -> None:
    """Draw once outside of the forward."""
    random.random()
