"""From an architecture and constructs to one module: what `jax.jit` gets as its first argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax

from rondo.errors import SubjectError
from rondo.frameworks.jax.module import Module, building, load_state, read_state
from rondo.subjects.target import Architecture, Construct


class Subject(Module):
    """Runs `body` over its inputs, then each construct of `tail` over hidden and its own inputs.

    Returns a tuple: the last hidden array, then whatever else the constructs put out.
    """

    def __init__(self, body: Module, tail: Sequence[Module], arities: Sequence[int]) -> None:
        super().__init__()
        self.body = body
        self.tail = list(tail)
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


class UserModel(Module):
    """A user's function, or a pytree that can be called: its arrays are parameters."""

    def __init__(self, model: Callable[..., object]) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: object) -> object:
        """Call it."""
        return self.model(*inputs)


def as_module(model: object) -> Module:
    """Return a user's model as a module. Raises SubjectError when it is nothing callable."""
    if isinstance(model, Module):
        return model
    if not callable(model):
        raise SubjectError(f"the factory built a {type(model).__name__}, not a callable or pytree")
    return UserModel(model)


def build_subject(
    architecture: Architecture, constructs: Sequence[Construct], *, seed: int
) -> Subject:
    """Build the subject from `seed`: equal seeds give bitwise equal parameters and buffers."""
    with building(seed):
        body = architecture.build()
        tail = [construct.build(architecture.features) for construct in constructs]
    return Subject(
        body, tail, [len(architecture.schema.inputs), *(len(c.inputs) for c in constructs)]
    )


def copied(model: Subject) -> Subject:
    """Return the model as a traced function gets it: new objects around the same arrays.

    What a forward writes to its attributes is lost, as it is in a trace. Buffers come along.
    """
    copy: Subject = jax.tree_util.tree_map(lambda leaf: leaf, model)
    load_state(copy, read_state(model))
    for old, new in zip(model.tail, copy.tail, strict=True):
        if old.own_static:
            new.static_value = old.static_value
    return copy
