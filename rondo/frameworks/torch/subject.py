"""The module under test: an architecture followed by constructs, as one `nn.Module`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rondo.subjects.target import Architecture, Construct


class Subject(nn.Module):
    """Runs `body` over its inputs, then each construct of `tail` over hidden and its own inputs.

    Returns a tuple: the last hidden tensor, then whatever else the constructs put out.
    """

    def __init__(self, body: nn.Module, tail: Sequence[nn.Module], arities: Sequence[int]) -> None:
        super().__init__()
        self.body = body
        self.tail = nn.ModuleList(tail)
        self.arities = tuple(arities)

    def forward(self, *inputs: object) -> tuple[object, ...]:
        """Map the architecture's inputs and then the constructs' inputs to all outputs."""
        position = self.arities[0]
        hidden = self.body(*inputs[:position])
        extra: list[object] = []
        for construct, arity in zip(self.tail, self.arities[1:], strict=True):
            result = construct(hidden, *inputs[position : position + arity])
            position += arity
            if isinstance(result, tuple):
                hidden = result[0]
                extra.extend(result[1:])
            else:
                hidden = result
        return (hidden, *extra)


def build_subject(
    architecture: Architecture, constructs: Sequence[Construct], *, seed: int
) -> Subject:
    """Build the subject from `seed`: equal seeds give bitwise equal parameters and buffers."""
    torch.manual_seed(seed)
    body = architecture.build()
    tail = [construct.build(architecture.features) for construct in constructs]
    arities = [len(architecture.schema.inputs), *(len(c.inputs) for c in constructs)]
    return Subject(body, tail, arities)


def tensors_of(value: object) -> list[Tensor]:
    """Return the tensors in nested tuples, lists and dict values, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_of(item)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []
