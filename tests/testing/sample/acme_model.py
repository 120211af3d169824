"""The model of the sample project."""

from __future__ import annotations

import acme_backend  # noqa: F401  (registers the back end)
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(self.linear(x), 0.5, self.training)
