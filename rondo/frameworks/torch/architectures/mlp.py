"""mlp: two linear layers with GELU, layer norm and dropout between them."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.dropout = nn.Dropout(0.25)
        self.head = nn.Linear(16, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(self.hidden.weight.dtype)
        return self.head(self.dropout(self.norm(nn.functional.gelu(self.hidden(x)))))


ARCHITECTURE = Architecture(
    "mlp",
    MLP,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("x", (BATCHES.name, 8)),)),
    features=6,
)


@ARCHITECTURE.change(values=3)
def set_dropout(module: MLP, value: int) -> None:
    """Give the dropout another rate."""
    module.dropout.p = (0.0, 0.5, 0.25)[value]
