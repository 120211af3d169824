"""lstm: a two-layer LSTM that goes on from the hidden state its previous call left in buffers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, LENGTHS, MAX_BATCH
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class StatefulLSTM(nn.Module):
    """Truncated backpropagation through time: the state is carried on, its history is not."""

    hidden: Tensor
    cell: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 8, num_layers=2, batch_first=True, dropout=0.25)
        self.head = nn.Linear(8, 6)
        self.carry = True
        self.register_buffer("hidden", torch.zeros(2, MAX_BATCH, 8))
        self.register_buffer("cell", torch.zeros(2, MAX_BATCH, 8))

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(self.head.weight.dtype)
        state = None
        if self.carry:
            # Copies: the backward pass needs the old state after the buffers hold the new one.
            state = (self.hidden[:, : x.shape[0]].clone(), self.cell[:, : x.shape[0]].clone())
        outputs, (hidden, cell) = self.lstm(x, state)
        self.hidden[:, : x.shape[0]] = hidden.detach()
        self.cell[:, : x.shape[0]] = cell.detach()
        return self.head(outputs)


ARCHITECTURE = Architecture(
    "lstm",
    StatefulLSTM,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(InputSpec("x", (BATCHES.name, LENGTHS.name, 8)),),
    ),
    features=6,
)


@ARCHITECTURE.change()
def reset_state(module: StatefulLSTM, value: int) -> None:
    """Forget the carried state, in place."""
    module.hidden.zero_()
    module.cell.zero_()


@ARCHITECTURE.change(values=2)
def set_carry(module: StatefulLSTM, value: int) -> None:
    """Start every call from zeros, or go on from the previous call again."""
    module.carry = (False, True)[value]


@ARCHITECTURE.change(values=2)
def set_dropout(module: StatefulLSTM, value: int) -> None:
    """Give the dropout between the layers another rate."""
    module.lstm.dropout = (0.0, 0.25)[value]
