"""host_callback: jax.pure_callback into a function that reads an attribute at each run."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from rondo.frameworks.jax.kinds import TRANSFORMATION
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Host:
    """Code outside of the compiled program."""

    def __init__(self) -> None:
        self.factor = 2.0

    def scale(self, x: Any) -> Any:
        """Return x times the factor of the moment."""
        return (np.asarray(x) * self.factor).astype(np.asarray(x).dtype)


class HostCallback(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.host = Host()

    def forward(self, hidden: Any) -> Any:
        stopped = jax.lax.stop_gradient(hidden)
        shape = jax.ShapeDtypeStruct(stopped.shape, stopped.dtype)
        return hidden + jax.pure_callback(self.host.scale, shape, stopped)


CONSTRUCT = Construct("host_callback", HostCallback, kind=TRANSFORMATION, guarded=True)


@CONSTRUCT.change(values=2)
def set_factor(module: HostCallback, value: int) -> None:
    """Assign the factor that the host reads."""
    module.host.factor = (0.5, 2.0)[value]
