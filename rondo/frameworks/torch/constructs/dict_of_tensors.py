"""dict_of_tensors: tensors kept in a dict, replaced, updated in place, and aliased."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class DictOfTensors(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.tensors = {
            "first": torch.full((features,), 0.25),
            "second": torch.full((features,), -0.5),
        }

    def forward(self, hidden: Tensor) -> Tensor:
        for name in sorted(self.tensors):
            hidden = hidden.sin() + self.tensors[name].to(hidden.dtype)
        self.tensors["last"] = hidden.detach().flatten(0, -2).sum(0).tanh()
        return hidden


CONSTRUCT = Construct("dict_of_tensors", DictOfTensors, kind="alias guard", guarded=True)


@CONSTRUCT.change(values=3)
def replace(module: DictOfTensors, value: int) -> None:
    """Put another tensor under a key: of another dtype, another value, or one like the first."""
    module.tensors["first"] = (
        torch.full((module.features,), 1, dtype=torch.int64),
        torch.full((1,), 0.75),
        torch.full((module.features,), 0.25),
    )[value]


@CONSTRUCT.change(values=2)
def alias(module: DictOfTensors, value: int) -> None:
    """Let two keys hold one tensor, or part them."""
    first = module.tensors["first"]
    module.tensors["second"] = (first, first.clone())[value]


@CONSTRUCT.change()
def drop_last(module: DictOfTensors, value: int) -> None:
    """Drop the tensor that the forward left."""
    module.tensors.pop("last", None)


@CONSTRUCT.observe
def contents(module: DictOfTensors) -> dict[str, object]:
    """Report the tensors by key."""
    return {"tensors": dict(module.tensors)}
