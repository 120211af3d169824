"""Paddle's global state that calls can read: seen, pictured and put back.

One table serves what an observation shows under `ambient.*` and what is restored after every arm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import paddle
from paddle.framework import core
from paddle.jit.dy2static.program_translator import ProgramTranslator

from rondo.frameworks.shared.observe import RandomStates, random_digests, seed_random

ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Mode:
    """One piece of global state: how to read it and how to put a value back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


def _flag(name: str) -> Mode:
    return Mode(
        name.removeprefix("FLAGS_"),
        lambda: paddle.get_flags(name)[name],
        lambda value: paddle.set_flags({name: value}),
    )


def _set_dynamic(dynamic: bool) -> None:
    if dynamic:
        paddle.disable_static()
    else:
        paddle.enable_static()


MODES = (
    Mode("default_dtype", paddle.get_default_dtype, paddle.set_default_dtype),
    Mode("grad_enabled", paddle.is_grad_enabled, core._set_has_grad),
    Mode(
        "to_static_enabled",
        lambda: ProgramTranslator().enable_to_static,
        paddle.jit.enable_to_static,
    ),
    Mode("dynamic_mode", paddle.in_dynamic_mode, _set_dynamic),
    _flag("FLAGS_check_nan_inf"),
)
"""None of these is in the signature under which whole-graph capture keeps a program."""


def read_ambient() -> dict[str, str]:
    """Return every mode as text, as an observation shows it."""
    return {mode.name: str(mode.read()) for mode in MODES}


def generator() -> Any:
    """Return Paddle's generator on the CPU."""
    return core.default_cpu_generator()


def read_random() -> dict[str, str]:
    """Return digests of random states: Python's, numpy's and Paddle's."""
    state = ADDRESS.sub("", str(generator().get_state()))
    return {**random_digests(), "paddle": blake2b(state.encode(), digest_size=6).hexdigest()}


class Ambient:
    """A picture of modes and random states, put back by `restore`."""

    def __init__(self) -> None:
        self._modes = [(mode, mode.read()) for mode in MODES]
        self._random = RandomStates()
        self._generator = generator().get_state()

    def restore(self) -> None:
        """Put everything back."""
        for mode, value in self._modes:
            if mode.read() != value:
                mode.write(value)
        generator().set_state(self._generator)
        self._random.restore()


@contextmanager
def ambient(seed: int) -> Iterator[None]:
    """Seed every generator and count names from the start; on leaving, put all state back.

    Names of parameters come from counters of the whole process. Programs sort parameters by name,
    so that with ten others before them the same parameters would come in another order.
    """
    before = Ambient()
    seed_everything(seed)
    try:
        with paddle.utils.unique_name.guard():
            yield
    finally:
        before.restore()


def seed_everything(seed: int) -> None:
    """Seed Python, numpy and Paddle."""
    paddle.seed(seed)
    seed_random(seed)
