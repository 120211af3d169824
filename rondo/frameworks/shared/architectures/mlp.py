"""mlp: two linear layers with GELU, layer norm and dropout between them."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import BATCHES
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import InputSpec, Schema


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class MLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(8, 16)
            self.norm = nn.LayerNorm(16)
            self.dropout = nn.Dropout(0.25)
            self.head = nn.Linear(16, 6)

        def forward(self, x: Any) -> Any:
            x = nn.activate(self.hidden(nn.cast(x, self.hidden.weight)), "gelu")
            return self.head(self.dropout(self.norm(x)))

    return MLP


ARCHITECTURE = Definition(
    "mlp",
    define,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("x", (BATCHES.name, 8)),)),
    features=6,
)


@ARCHITECTURE.change(values=3)
def set_dropout(module: Any, value: int) -> None:
    """Give the dropout another rate."""
    module.dropout.rate = (0.0, 0.5, 0.25)[value]
