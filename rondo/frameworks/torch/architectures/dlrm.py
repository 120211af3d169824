"""dlrm: embeddings that renormalise rows in place as they are read, bags, and dot interactions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.sequences.vocabulary import Dimension, InputSpec, Schema
from rondo.subjects.target import Architecture

BAGS = Dimension("bag", (3, 5, 1))
WIDTH, ROWS = 4, 10


class DLRM(nn.Module):
    """A forward of `user` changes its weight: rows longer than `max_norm` are cut back."""

    rows: Tensor
    columns: Tensor
    reads: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, WIDTH))
        self.user = nn.Embedding(ROWS, WIDTH, max_norm=1.5)
        self.item = nn.Embedding(ROWS, WIDTH)
        self.history = nn.EmbeddingBag(ROWS, WIDTH, mode="mean")
        rows, columns = torch.tril_indices(4, 4, offset=-1)
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("columns", columns, persistent=False)
        self.register_buffer("reads", torch.zeros(ROWS, dtype=torch.int64))
        self.top = nn.Sequential(nn.Linear(WIDTH + 6, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, dense: Tensor, user: Tensor, item: Tensor, history: Tensor) -> Tensor:
        bottom = self.bottom(dense.to(self.item.weight.dtype))
        if self.training:
            self.reads.index_add_(0, item, torch.ones_like(item))
        parts = [bottom, self.user(user), self.item(item), self.history(history)]
        vectors = torch.stack([part.to(bottom.dtype) for part in parts], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.rows, self.columns]
        return self.top(torch.cat((bottom, products), 1))


ARCHITECTURE = Architecture(
    "dlrm",
    DLRM,
    schema=Schema(
        dimensions=(BATCHES, BAGS),
        inputs=(
            InputSpec("dense", (BATCHES.name, 4)),
            InputSpec("user", (BATCHES.name,), kind="index", high=ROWS),
            InputSpec("item", (BATCHES.name,), kind="index", high=ROWS),
            InputSpec("history", (BATCHES.name, BAGS.name), kind="index", high=ROWS),
        ),
    ),
    features=3,
)


@ARCHITECTURE.change(values=4)
def set_max_norm(module: DLRM, value: int) -> None:
    """Cut rows of the user embedding to another length, or not at all."""
    module.user.max_norm = (0.5, 1.0, None, 1.5)[value]


@ARCHITECTURE.change(values=3)
def set_bag_mode(module: DLRM, value: int) -> None:
    """Reduce each bag another way."""
    module.history.mode = ("sum", "max", "mean")[value]


@ARCHITECTURE.change()
def evict_unread(module: DLRM, value: int) -> None:
    """Zero the item rows that training has not read so far, as table eviction does."""
    with torch.no_grad():
        module.item.weight[module.reads == 0] = 0.0
