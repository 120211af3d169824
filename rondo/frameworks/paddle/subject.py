"""The layer under test: an architecture followed by constructs, as one `paddle.nn.Layer`.

A construct may name attributes of its own whose values are passed as arguments (`passed`): an
argument is part of the signature under which whole-graph capture keeps a program, what the code
reads elsewhere is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

import paddle

from rondo.errors import SubjectError
from rondo.frameworks.paddle.layers import building
from rondo.frameworks.paddle.statics import never_skip
from rondo.subjects.target import Architecture, Construct


class Subject(paddle.nn.Layer):
    """Runs `body` over its inputs, then each construct of `tail` over hidden and its own inputs.

    Returns a tuple: the last hidden tensor, then whatever else the constructs put out.
    """

    def __init__(self, body: Any, tail: Sequence[Any], arities: Sequence[int]) -> None:
        super().__init__()
        self.body = body
        self.tail = paddle.nn.LayerList(tail)
        self.arities = tuple(arities)

    def arguments(self) -> tuple[tuple[object, ...], ...]:
        """Return, for each construct, the values of the attributes that it passes as arguments."""
        return tuple(
            tuple(getattr(construct, name) for name in getattr(construct, "passed", ()))
            for construct in self.tail
        )

    def forward(self, inputs: Any, passed: Any) -> Any:
        """Map the architecture's inputs, the constructs' inputs and their arguments to outputs."""
        position = self.arities[0]
        hidden = self.body(*inputs[:position])
        extra: list[Any] = []
        index = 0
        for construct in self.tail:
            arity = self.arities[index + 1]
            own = inputs[position : position + arity]
            position = position + arity
            result = construct(hidden, *own, *passed[index])
            index = index + 1
            if isinstance(result, tuple):
                hidden = result[0]
                extra.extend(result[1:])
            else:
                hidden = result
        return (hidden, *extra)


class Called(paddle.nn.Layer):
    """A user's function as a layer."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        """Call it."""
        return self.function(*inputs)


def build_subject(
    architecture: Architecture, constructs: Sequence[Construct], *, seed: int, dtype: str
) -> Subject:
    """Build the subject from `seed`: equal seeds give bitwise equal parameters."""
    with building(seed, dtype):
        body = architecture.build()
        tail = [construct.build(architecture.features) for construct in constructs]
    arities = [len(architecture.schema.inputs), *(len(c.inputs) for c in constructs)]
    subject = Subject(body, tail, arities)
    never_skip(functions_of(subject))
    return subject


def functions_of(subject: Subject) -> Iterator[FunctionType]:
    """Yield the functions of the classes that a subject's layers have, Paddle's own left out."""
    classes = {type(layer) for layer in subject.sublayers(include_self=True)}
    for cls in classes:
        if not cls.__module__.startswith("paddle."):
            yield from (each for each in vars(cls).values() if isinstance(each, FunctionType))


def as_layer(model: object) -> paddle.nn.Layer:
    """Return a user's model as a layer. Raises SubjectError when it is nothing callable."""
    if isinstance(model, paddle.nn.Layer):
        return model
    if not callable(model):
        raise SubjectError(f"the factory built a {type(model).__name__}, not a layer or function")
    return Called(model)
