"""lstm: two LSTM layers that go on from the state their previous call left in buffers."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import BATCHES, LENGTHS, MAX_BATCH
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import InputSpec, Schema

WIDTH = 8
STATES = ("hidden0", "cell0", "hidden1", "cell1")


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class StatefulLSTM(nn.Module):
        """Truncated backpropagation through time: the state is carried on, its history is not."""

        def __init__(self) -> None:
            super().__init__()
            self.lower = nn.LSTM(WIDTH, WIDTH)
            self.upper = nn.LSTM(WIDTH, WIDTH)
            self.dropout = nn.Dropout(0.25)
            self.head = nn.Linear(WIDTH, 6)
            self.carry = True
            for name in STATES:
                self.add_buffer(name, (MAX_BATCH, WIDTH))

        def recur(self, layer: Any, x: Any, hidden: str, cell: str) -> Any:
            """Run one layer and keep its state in the rows of this batch."""
            batch = nn.shape(x)[0]
            before = getattr(self, hidden), getattr(self, cell)
            state = tuple(nn.cast(each[:batch], x) for each in before) if self.carry else None
            outputs, after = layer(x, state)
            for name, old, new in zip((hidden, cell), before, after, strict=True):
                self.set_buffer(name, nn.concat([nn.cast(new, old), old[batch:]], 0))
            return outputs

        def forward(self, x: Any) -> Any:
            x = self.recur(self.lower, nn.cast(x, self.head.weight), "hidden0", "cell0")
            return self.head(self.recur(self.upper, self.dropout(x), "hidden1", "cell1"))

    return StatefulLSTM


ARCHITECTURE = Definition(
    "lstm",
    define,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(InputSpec("x", (BATCHES.name, LENGTHS.name, WIDTH)),),
    ),
    features=6,
)


@ARCHITECTURE.change()
def reset_state(module: Any, value: int) -> None:
    """Forget the carried state."""
    for name in STATES:
        module.set_buffer(name, getattr(module, name) * 0.0)


@ARCHITECTURE.change(values=2)
def set_carry(module: Any, value: int) -> None:
    """Start every call from zeros, or go on from the previous call again."""
    module.carry = (False, True)[value]


@ARCHITECTURE.change(values=2)
def set_dropout(module: Any, value: int) -> None:
    """Give the dropout between the layers another rate."""
    module.dropout.rate = (0.0, 0.25)[value]
