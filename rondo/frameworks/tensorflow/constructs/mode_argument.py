"""mode_argument: a string, None or a member of an enumeration, passed as an argument."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import ARGUMENT
from rondo.subjects.target import Construct


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class ModeArgument(tf.Module):
    passed = ("mode",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.mode: Any = "double"

    def __call__(self, hidden: Any, mode: Any) -> Any:
        if mode is None:
            return hidden
        if isinstance(mode, Level):
            return hidden * -1.0
        if isinstance(mode, int):
            return hidden * 3.0
        if isinstance(mode, Colour):
            return hidden + (0.5 if mode is Colour.RED else 0.25)
        return hidden * 2.0 if mode == "double" else hidden * 0.5


CONSTRUCT = Construct("mode_argument", ModeArgument, kind=ARGUMENT)


@CONSTRUCT.change(values=7)
def set_mode(module: ModeArgument, value: int) -> None:
    """Pass "halve", None, Level.LOW, the int 1, Colour.RED, Colour.BLUE or "double"."""
    modes = ("halve", None, Level.LOW, 1, Colour.RED, Colour.BLUE, "double")
    module.mode = modes[value]
