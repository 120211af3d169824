"""object_argument: an object of a user's class passed as an argument, edited or replaced."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import ARGUMENT
from rondo.subjects.target import Construct


class Options:
    def __init__(self, scale: float) -> None:
        self.scale = scale


class Named:
    """Equal by name, whatever the scale is."""

    def __init__(self, name: str, scale: float) -> None:
        self.name = name
        self.scale = scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class ObjectArgument(tf.Module):
    passed = ("options", "named")

    def __init__(self, features: int) -> None:
        super().__init__()
        self.options = Options(1.0)
        self.named = Named("first", 1.0)

    def __call__(self, hidden: Any, options: Any, named: Any) -> Any:
        return hidden * options.scale * named.scale


CONSTRUCT = Construct("object_argument", ObjectArgument, kind=ARGUMENT)


@CONSTRUCT.change(values=2)
def edit_options(module: ObjectArgument, value: int) -> None:
    """Give the object that is passed another scale."""
    module.options.scale = (2.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def replace_options(module: ObjectArgument, value: int) -> None:
    """Pass a new object; the old one dies."""
    module.options = Options((0.5, 1.0)[value])


@CONSTRUCT.change(values=3)
def replace_named(module: ObjectArgument, value: int) -> None:
    """Pass an object that equals the old one and scales otherwise, or one of another name."""
    module.named = Named(*(("first", 2.0), ("second", 0.5), ("first", 1.0))[value])
