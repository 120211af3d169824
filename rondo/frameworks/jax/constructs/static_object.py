"""static_object: a frozen dataclass as a static argument, with the equality Python gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from rondo.frameworks.jax.kinds import ARGUMENT
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


@dataclass(frozen=True)
class Settings:
    """What the forward is configured by."""

    factor: float = 2.0
    shifted: bool = False


@dataclass(frozen=True)
class OtherSettings(Settings):
    """Equal fields, another class: Python says unequal."""


class StaticObject(Module):
    own_static = True

    def __init__(self, features: int) -> None:
        super().__init__()
        self.static_value = Settings()

    def forward(self, hidden: Any) -> Any:
        settings = self.static_value
        hidden = hidden * settings.factor
        if isinstance(settings, OtherSettings):
            hidden = jnp.tanh(hidden)
        return hidden + 1.0 if settings.shifted else hidden


CONSTRUCT = Construct("static_object", StaticObject, kind=ARGUMENT, guarded=True)


@CONSTRUCT.change(values=4)
def set_static(module: StaticObject, value: int) -> None:
    """Pass an object with other fields, of a subclass, or an equal new one."""
    module.static_value = (Settings(0.5), Settings(2.0, True), OtherSettings(), Settings())[value]
