"""The module under test: an architecture followed by constructs, as one `nn.Module`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from rondo.errors import SubjectError
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


class FunctionModule(nn.Module):
    """A plain function as a module, so that every subject is one."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: object) -> object:
        """Call the function."""
        return self.function(*inputs)


def as_module(model: object) -> nn.Module:
    """Return a user's model as a module. Raises SubjectError when it is nothing callable."""
    if isinstance(model, nn.Module):
        return model
    if not callable(model):
        raise SubjectError(f"the factory built a {type(model).__name__}, not a module or function")
    return FunctionModule(model)


def tensors_of(value: object) -> list[Tensor]:
    """Return the tensors in nested tuples, lists and dict values, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_of(item)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []
