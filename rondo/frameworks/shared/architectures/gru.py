"""gru: goes on from its last state while the batch stays the same size; dropout on its input."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import BATCHES, MAX_BATCH
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import Dimension, InputSpec, Schema

TIMES = Dimension("length", (3, 4, 1, 2, 6))
WIDTH = 8


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class StatefulGRU(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(WIDTH, WIDTH)
            self.dropout = nn.Dropout(0.25)
            self.head = nn.Linear(WIDTH, 6)
            self.decay = 1.0
            self.add_buffer("hidden", (MAX_BATCH, WIDTH))

        def forward(self, x: Any, present: Any = None) -> Any:
            x = nn.cast(x, self.head.weight)
            if present is not None:
                x = x * nn.cast(present, x)[:, :, None]
            before = self.hidden
            batch = nn.shape(x)[0]
            state = nn.cast(before[:batch], x) * self.decay
            outputs, after = self.gru(self.dropout(x), state)
            self.set_buffer("hidden", nn.concat([nn.cast(after, before), before[batch:]], 0))
            return self.head(outputs)

    return StatefulGRU


ARCHITECTURE = Definition(
    "gru",
    define,
    schema=Schema(
        dimensions=(BATCHES, TIMES),
        inputs=(
            InputSpec("x", (BATCHES.name, TIMES.name, WIDTH)),
            InputSpec("present", (BATCHES.name, TIMES.name), kind="bool", optional=True),
        ),
    ),
    features=6,
)


@ARCHITECTURE.change()
def forget(module: Any, value: int) -> None:
    """Zero the carried state."""
    module.set_buffer("hidden", module.hidden * 0.0)


@ARCHITECTURE.change(values=3)
def set_decay(module: Any, value: int) -> None:
    """Let the carried state decay between calls: wholly, by half, or not."""
    module.decay = (0.0, 0.5, 1.0)[value]


@ARCHITECTURE.change(values=3)
def set_dropout(module: Any, value: int) -> None:
    """Give the dropout on the input another rate."""
    module.dropout.rate = (0.0, 0.5, 0.25)[value]
