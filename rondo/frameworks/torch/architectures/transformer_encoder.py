"""transformer_encoder: torch's own encoder, whose fast path depends on mode, gradients and mask."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, LENGTHS
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor, padding: Tensor | None = None) -> Tensor:
        x = x.to(self.norm.weight.dtype)
        if padding is not None:
            # A row of nothing but padding has no softmax: each keeps its first element.
            padding = padding & (torch.arange(x.shape[1], device=x.device) > 0)
        return self.norm(self.encoder(x, src_key_padding_mask=padding))


ARCHITECTURE = Architecture(
    "transformer_encoder",
    Encoder,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(
            InputSpec("x", (BATCHES.name, LENGTHS.name, 8)),
            InputSpec("padding", (BATCHES.name, LENGTHS.name), kind="bool", optional=True),
        ),
    ),
    features=8,
)


@ARCHITECTURE.change(values=2)
def set_norm_first(module: Encoder, value: int) -> None:
    """Move the layer norms of the first layer before its sub-layers, or back behind them."""
    module.encoder.layers[0].norm_first = (True, False)[value]


@ARCHITECTURE.change(values=3)
def set_dropout(module: Encoder, value: int) -> None:
    """Give the attention of the last layer another dropout rate."""
    module.encoder.layers[1].self_attn.dropout = (0.0, 0.5, 0.1)[value]


@ARCHITECTURE.change(values=2)
def set_eps(module: Encoder, value: int) -> None:
    """Give the last layer norm another epsilon."""
    module.norm.eps = (0.1, 1e-5)[value]
