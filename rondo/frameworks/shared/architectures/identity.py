"""identity: the input itself, the smallest architecture there is; shortening ends here."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import BATCHES
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import InputSpec, Schema


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class Identity(nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    return Identity


ARCHITECTURE = Definition(
    "identity",
    define,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("x", (BATCHES.name, 4)),)),
    features=4,
)
