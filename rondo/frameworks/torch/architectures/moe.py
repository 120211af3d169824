"""moe: top-k experts, balanced without a loss: a bias buffer is pushed after each training call."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, LENGTHS
from rondo.frameworks.torch.architectures._layers import FeedForward
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

WIDTH, EXPERTS = 8, 4


class Router(nn.Module):
    """Chooses experts by score plus bias and weighs them by score alone.

    The bias follows Wang et al. (2024), "Auxiliary-Loss-Free Load Balancing": in training an expert
    with more than its share of tokens is pushed down a little, one with less is pushed up. Scores
    are computed from the block's input in float32, so that rounding does not decide the routing.
    """

    bias: Tensor
    load: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(EXPERTS, WIDTH) * 0.5)
        self.active = 2
        self.push = 0.05
        self.register_buffer("bias", torch.zeros(EXPERTS))
        self.register_buffer("load", torch.zeros(EXPERTS, dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        scores = (x.float()[..., None, :] * self.weight.float()).sum(-1).softmax(-1)
        chosen = (scores + self.bias).topk(self.active, -1).indices
        weights = torch.zeros_like(scores).scatter(-1, chosen, scores.gather(-1, chosen))
        weights = weights / weights.sum(-1, keepdim=True)
        if self.training:
            used = torch.bincount(chosen.flatten(), minlength=EXPERTS)
            self.load += used
            share = x.shape[0] * x.shape[1] * self.active
            self.bias += self.push * torch.sign(share - EXPERTS * used)
        return weights.to(x.dtype)


class MixtureOfExperts(nn.Module):
    """Every expert sees every token and weights of zero silence it: no data-dependent shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.router = Router()
        self.experts = nn.ModuleList(FeedForward(WIDTH, WIDTH) for _ in range(EXPERTS))
        self.shared = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(self.norm.weight.dtype)
        weights = self.router(x)
        mixed = self.shared(x)
        for number, expert in enumerate(self.experts):
            mixed = mixed + weights[..., number, None] * expert(x)
        return self.norm(x + mixed)


ARCHITECTURE = Architecture(
    "moe",
    MixtureOfExperts,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(InputSpec("x", (BATCHES.name, LENGTHS.name, WIDTH)),),
    ),
    features=WIDTH,
)


@ARCHITECTURE.change(values=3)
def set_active(module: MixtureOfExperts, value: int) -> None:
    """Let another number of experts answer for each token."""
    module.router.active = (1, EXPERTS, 2)[value]


@ARCHITECTURE.change(values=3)
def set_push(module: MixtureOfExperts, value: int) -> None:
    """Push the bias by another amount per training call."""
    module.router.push = (0.0, 1.0, 0.05)[value]


@ARCHITECTURE.change(values=2)
def set_bias(module: MixtureOfExperts, value: int) -> None:
    """Shut the first expert out, or treat all alike again, in place."""
    module.router.bias.zero_()
    module.router.bias[0] = (-10.0, 0.0)[value]
