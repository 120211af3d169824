"""gru: a loop over time that starts from a tensor attribute and puts a new one in its place."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.sequences.vocabulary import Dimension, InputSpec, Schema
from rondo.subjects.target import Architecture

TIMES = Dimension("length", (3, 4, 1, 2, 6))
WIDTH = 8


class GRU(nn.Module):
    """The hidden state is an attribute, not a buffer: `to` and `state_dict` know nothing of it."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 6)
        self.dropout = 0.25
        self.hidden: Tensor | None = None

    def initial_state(self, x: Tensor) -> Tensor:
        """Return where the last call stopped, or zeros when its batch was another one."""
        if self.hidden is None or self.hidden.shape[0] != x.shape[0]:
            return x.new_zeros(x.shape[0], WIDTH)
        # A copy, because inference mode may have left a tensor that autograd must not keep.
        return self.hidden.to(x.dtype, copy=True)

    def forward(self, x: Tensor, present: Tensor | None = None) -> Tensor:
        x = x.to(self.head.weight.dtype)
        hidden = self.initial_state(x)
        keep = 1.0 - self.dropout
        if self.training and keep < 1.0:
            # One draw for all times: recurrent dropout after Gal and Ghahramani (2016).
            x = x * x.new_empty(x.shape[0], 1, WIDTH).bernoulli_(keep) / keep
        outputs = []
        for time in range(x.shape[1]):
            updated = self.cell(x[:, time], hidden)
            if present is not None:
                updated = torch.where(present[:, time, None], updated, hidden)
            hidden = updated
            outputs.append(hidden)
        self.hidden = hidden.detach()
        return self.head(torch.stack(outputs, 1))


ARCHITECTURE = Architecture(
    "gru",
    GRU,
    schema=Schema(
        dimensions=(BATCHES, TIMES),
        inputs=(
            InputSpec("x", (BATCHES.name, TIMES.name, WIDTH)),
            InputSpec("present", (BATCHES.name, TIMES.name), kind="bool", optional=True),
        ),
    ),
    features=6,
)


@ARCHITECTURE.observe
def observe(module: GRU) -> dict[str, object]:
    """Report the carried state."""
    return {} if module.hidden is None else {"hidden": module.hidden}


@ARCHITECTURE.change()
def forget(module: GRU, value: int) -> None:
    """Drop the carried state."""
    module.hidden = None


@ARCHITECTURE.change(values=2)
def overwrite_state(module: GRU, value: int) -> None:
    """Fill the carried state in place."""
    if module.hidden is not None:
        # In inference mode, which may write to its own tensors as well as to ordinary ones.
        with torch.inference_mode():
            module.hidden.fill_((1.0, 0.0)[value])


@ARCHITECTURE.change(values=3)
def set_dropout(module: GRU, value: int) -> None:
    """Give the locked dropout another rate."""
    module.dropout = (0.0, 0.5, 0.25)[value]
