"""The module under test: an architecture followed by constructs, as one `nn.Module`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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


def move_in(module: nn.Module, device: str) -> None:
    """Move to `device` what a module holds elsewhere: parameters, buffers, plain attributes.

    What is built here lives there from the start, since it is the default device by then; a model
    of the user's own may name the CPU, or load its tensors.
    """
    place = torch.device(device)
    held = (*module.parameters(), *module.buffers())
    if any(tensor.device.type != place.type for tensor in held):
        module.to(place)
    mover = _Mover(place)
    for part in module.modules():
        mover.move_items({k: v for k, v in vars(part).items() if k[0] != "_"}, vars(part))


class _Mover:
    """Moves plain tensors, in lists and dicts too, which stay the objects that they are.

    Tensors that share memory share it afterwards, with the strides and offsets that they have; one
    that is no leaf of autograd's has a history on the other device and stays where it is.
    """

    def __init__(self, place: torch.device) -> None:
        self.place = place
        self._storages: dict[int, Tensor] = {}
        self._seen: set[int] = set()

    def move_items(self, items: dict[Any, object], owner: Any) -> None:
        """Put what is moved of `items` into `owner`, under the same keys."""
        for key, value in items.items():
            moved = self._moved(value)
            if moved is not value:
                owner[key] = moved

    def _moved(self, value: object) -> object:
        if isinstance(value, (list, dict)) and id(value) not in self._seen:
            self._seen.add(id(value))
            self.move_items(dict(enumerate(value)) if isinstance(value, list) else value, value)
        elif type(value) is Tensor and value.device.type not in (self.place.type, "meta"):
            return self._tensor(value)
        return value

    def _tensor(self, tensor: Tensor) -> Tensor:
        if tensor.layout != torch.strided or not tensor.is_leaf:
            return tensor
        held = tensor.untyped_storage()
        if held.data_ptr() not in self._storages:
            flat = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(held)
            self._storages[held.data_ptr()] = flat.to(self.place)
        storage = self._storages[held.data_ptr()].untyped_storage()
        moved = torch.empty(0, dtype=tensor.dtype, device=self.place)
        moved.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
        return moved.requires_grad_(tensor.requires_grad)


def copied(value: object) -> object:
    """Return nested tuples, lists and dicts with a copy of each tensor, differentiable as it is."""
    if type(value) is Tensor:
        return value.clone()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if type(value) is list:
        return [copied(item) for item in value]
    if type(value) is tuple:
        return tuple(copied(item) for item in value)
    return value


def copy_held(module: nn.Module) -> None:
    """Put a copy in the place of each gradient and of each plain tensor that a module holds."""
    for part in module.modules():
        for name, value in list(vars(part).items()):
            if type(value) is Tensor:
                vars(part)[name] = value.clone()
    for parameter in module.parameters():
        if parameter.grad is not None:
            parameter.grad = parameter.grad.clone()


def tensors_of(value: object) -> list[Tensor]:
    """Return the tensors in nested tuples, lists and dict values, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_of(item)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []
