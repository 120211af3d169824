"""identity: the input itself, the smallest architecture there is; shortening ends here."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class Identity(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


ARCHITECTURE = Architecture(
    "identity",
    Identity,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("x", (BATCHES.name, 4)),)),
    features=4,
)
