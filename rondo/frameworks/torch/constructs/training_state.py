"""training_state: what a forward does by `training`: dropout, batch statistics and a branch.

The construct's own change flips single layers, which leaves parent and child disagreeing.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from rondo.subjects.target import Construct


class TrainingState(nn.Module):
    mean: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(features, affine=False)
        self.drop = nn.Dropout(0.25)
        self.rate = 0.5

    def forward(self, hidden: Tensor) -> Tensor:
        rows = hidden.reshape(-1, hidden.shape[-1])
        if rows.shape[0] > 1 or not self.norm.training:
            rows = self.norm(rows.float()).to(hidden.dtype)
        rows = self.drop(rows)
        rows = dropout(rows, self.rate, self.training)
        shift = 0.25 if self.training and torch.is_grad_enabled() else -0.25
        return rows.reshape(hidden.shape) + shift


CONSTRUCT = Construct("training_state", TrainingState, kind="module guard", guarded=True)


@CONSTRUCT.change(values=4)
def set_training(module: TrainingState, value: int) -> None:
    """Set the mode of one layer alone."""
    layer = (module.norm, module.drop)[value % 2]
    layer.train(value >= 2)


@CONSTRUCT.change(values=3)
def set_rate(module: TrainingState, value: int) -> None:
    """Set the rate of the functional dropout."""
    module.rate = (0.0, 0.25, 0.5)[value]


@CONSTRUCT.change(values=3)
def set_drop(module: TrainingState, value: int) -> None:
    """Set the rate of the dropout layer."""
    module.drop.p = (0.0, 0.5, 0.25)[value]


@CONSTRUCT.change(values=3)
def set_momentum(module: TrainingState, value: int) -> None:
    """Set the momentum of the statistics; None means a cumulative average."""
    module.norm.momentum = (None, 0.5, 0.1)[value]


@CONSTRUCT.change(values=2)
def set_tracking(module: TrainingState, value: int) -> None:
    """Stop tracking statistics, or track them again."""
    module.norm.track_running_stats = value == 1
