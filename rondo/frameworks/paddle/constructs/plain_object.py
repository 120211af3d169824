"""plain_object: an object of a plain class and a dataclass, read by attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


class Options:
    """What users keep settings in."""

    def __init__(self) -> None:
        self.gain = 1.0


@dataclass
class Record:
    """The same as a dataclass."""

    shift: float = 0.0


class PlainObject(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.options: Any = Options()
        self.record: Any = Record()

    def forward(self, hidden: Any) -> Any:
        return hidden * self.options.gain + self.record.shift


CONSTRUCT = Construct("plain_object", PlainObject, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change(values=2)
def edit(module: PlainObject, value: int) -> None:
    """Edit the object."""
    module.options.gain = (2.0, 1.0)[value]


@CONSTRUCT.change()
def replace(module: PlainObject, value: int) -> None:
    """Put another object in its place."""
    other = Options()
    other.gain = 4.0
    module.options = other


@CONSTRUCT.change(values=2)
def edit_record(module: PlainObject, value: int) -> None:
    """Edit the dataclass."""
    module.record.shift = (1.0, 0.0)[value]
