"""The module under test: an architecture followed by constructs, as one `tf.Module`.

`training` is a Python argument, as in Keras and in TensorFlow's guides. A construct may also name
attributes of its own whose values are passed as arguments (`passed`): what a user passes is part of
the key under which tf.function keeps a trace, what a trace reads elsewhere is not.

AutoGraph rewrites what a user writes, the constructs, and not what holds them together: converting
this file took longer than all tracing of a small subject.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.autograph.core.ag_ctx import ControlStatusCtx, Status
from tensorflow.python.autograph.core.converter import ConversionOptions
from tensorflow.python.autograph.impl.api import tf_convert

from rondo.errors import SubjectError
from rondo.frameworks.tensorflow.layers import building, training_mode
from rondo.subjects.target import Architecture, Construct


class Subject(tf.Module):
    """Runs `body` over its inputs, then each construct of `tail` over hidden and its own inputs.

    Returns a tuple: the last hidden tensor, then whatever else the constructs put out.
    """

    def __init__(self, body: Any, tail: Sequence[Any], arities: Sequence[int]) -> None:
        super().__init__()
        self.body = body
        self.tail = list(tail)
        self.arities = tuple(arities)
        self.autograph = True

    def arguments(self) -> tuple[tuple[object, ...], ...]:
        """Return, for each construct, the values of the attributes that it passes as arguments."""
        return tuple(
            tuple(getattr(construct, name) for name in getattr(construct, "passed", ()))
            for construct in self.tail
        )

    def forward(
        self, training: bool, inputs: tuple[Any, ...], passed: tuple[tuple[Any, ...], ...]
    ) -> tuple[Any, ...]:
        """Map the architecture's inputs, the constructs' inputs and their arguments to outputs."""
        inputs = tuple(as_tensor(each) for each in inputs)
        position = self.arities[0]
        extra: list[Any] = []
        with training_mode(training):
            hidden = as_hidden(self.body(*inputs[:position]))
            for index, construct in enumerate(self.tail):
                arity = self.arities[index + 1]
                own = inputs[position : position + arity]
                position += arity
                result = self.converted(construct)(hidden, *own, *passed[index])
                if isinstance(result, tuple):
                    hidden = result[0]
                    extra.extend(result[1:])
                else:
                    hidden = result
        return (hidden, *extra)

    def converted(self, construct: Callable[..., Any]) -> Callable[..., Any]:
        """Return a construct as it is called: while tracing, AutoGraph converts it if asked for."""
        if tf.executing_eagerly() or not self.autograph:
            return construct
        enabled = ControlStatusCtx(Status.ENABLED, default_options())
        function: Callable[..., Any] = tf_convert(construct, enabled)
        return function


def default_options() -> ConversionOptions:
    """Return the options under which tf.function converts."""
    return ConversionOptions(recursive=True, user_requested=True)


def as_tensor(value: Any) -> Any:
    """Return arrays and variables as tensors: tf.function would, so eager calls have to."""
    if isinstance(value, (np.ndarray, tf.Variable)):
        return tf.convert_to_tensor(value)
    return value


def as_hidden(value: Any) -> Any:
    """Return the tensor that constructs go on with: a user's model may put out several."""
    flat = [leaf for leaf in tf.nest.flatten(value) if tf.is_tensor(leaf)]
    return flat[0] if len(flat) == 1 else value


def build_subject(
    architecture: Architecture, constructs: Sequence[Construct], *, seed: int, dtype: Any
) -> Subject:
    """Build the subject from `seed`: equal seeds give bitwise equal variables."""
    with building(seed, dtype), training_mode(True):
        body = architecture.build()
        tail = [construct.build(architecture.features) for construct in constructs]
    arities = [len(architecture.schema.inputs), *(len(c.inputs) for c in constructs)]
    return Subject(body, tail, arities)


def as_callable(model: object) -> Callable[..., object]:
    """Return a user's model. Raises SubjectError when it is nothing callable."""
    if not callable(model):
        raise SubjectError(f"the factory built a {type(model).__name__}, not a model or function")
    return model
