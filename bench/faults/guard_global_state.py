"""guard_global_state: the guard on torch's global state is left out.

Mechanism: gradient mode, autocast, default dtype and deterministic algorithms are checked as one
(GLOBAL_STATE).
Broken: the guard is not added.
Established by a call in one mode; exposed by the same call in another mode.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """The second of two calls runs under no_grad, on which the forward branches."""
    return on("identity", "grad_mode").call().call(grad="no_grad")


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager

    def add_nothing(self: object, *rest: object) -> None:
        pass

    GuardManager.add_global_state_guard  # noqa: B018  (raises where there is none)
    GuardManager.add_global_state_guard = add_nothing


if __name__.startswith("rondo_preload"):
    install()
