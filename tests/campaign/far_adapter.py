"""The toy compiler on a second device: the code path of devices, without one.

FAR in the environment says that the machine has it, FAR_STARTED that somebody has started it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO

from rondo.frameworks.base import Arm, Program
from rondo.oracle.observation import Observation
from rondo.sequences.step import Call, Sequence
from tests.toy_framework import ToyFramework, ToyProgram


class FarProgram(ToyProgram):
    """Loses its device in a compiled call for which a part is armed."""

    def call(self, call: Call, *, compiled: bool) -> Observation:
        armed = any(getattr(part, "armed", False) for part in self.order())
        if self.framework.device == "far" and compiled and armed:
            told = f"CUDA error: an illegal memory access was met at {id(self):#x}\nsee the manual"
            with redirect_stdout(StringIO()):  # as where an adapter listens to what is printed
                self.framework.lose_device(told)
        return super().call(call, compiled=compiled)


class FarFramework(ToyFramework):
    """Prefers the device `far` where there is one."""

    devices = ("cpu", "far")

    def absent(self, device: str) -> str:
        return "" if device == "cpu" or os.environ.get("FAR") else "there is nothing far here"

    def unforkable(self) -> str:
        return "somebody has started it" if os.environ.get("FAR_STARTED") else ""

    @contextmanager
    def arm(self, sequence: Sequence, arm: Arm) -> Iterator[Program]:
        yield FarProgram(self, sequence)
