"""names_around: a global, a closure, defaults and a class attribute, read while tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import CAPTURED
from rondo.subjects.target import Construct

GAIN = 1.0


def shifted(hidden: Any, shift: float = 0.0, *, scale: float = 1.0) -> Any:
    """Scale and shift."""
    return hidden * scale + shift


def make_closure() -> tuple[Callable[[Any], Any], Callable[[float], None]]:
    """Return a function that reads a cell, and one that assigns it."""
    amount = 1.0

    def use(hidden: Any) -> Any:
        return hidden * amount

    def assign(value: float) -> None:
        nonlocal amount
        amount = value

    return use, assign


class NamesAround(tf.Module):
    factor = 1.0

    def __init__(self, features: int) -> None:
        super().__init__()
        self.use, self.assign = make_closure()

    def __call__(self, hidden: Any) -> Any:
        return shifted(self.use(hidden) * GAIN) * self.factor


CONSTRUCT = Construct("names_around", NamesAround, kind=CAPTURED)


@CONSTRUCT.change(values=2)
def set_global(module: NamesAround, value: int) -> None:
    """Rebind the global."""
    globals()["GAIN"] = (2.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def set_closure(module: NamesAround, value: int) -> None:
    """Assign what the closure reads."""
    module.assign((0.5, 1.0)[value])


@CONSTRUCT.change(values=2)
def set_defaults(module: NamesAround, value: int) -> None:
    """Give the function other defaults."""
    shifted.__defaults__ = ((1.0,), (0.0,))[value]
    shifted.__kwdefaults__ = {"scale": (0.5, 1.0)[value]}


@CONSTRUCT.change(values=2)
def set_class_attribute(module: NamesAround, value: int) -> None:
    """Give the class attribute another value."""
    NamesAround.factor = (3.0, 1.0)[value]


@CONSTRUCT.change()
def rebind_function(module: NamesAround, value: int) -> None:
    """Put another function behind the global name."""
    globals()["shifted"] = lambda hidden: hidden - 1.0
