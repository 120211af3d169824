"""guard_same_tensor: the guard that two names hold one tensor is left out.

Mechanism: two names for one tensor become one graph input, so they must stay one
(DUPLICATE_INPUT).
Broken: the guard is not added.
Established by a call that passes one tensor twice; exposed by a call with two tensors: the second
is ignored.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """One tensor is passed for two inputs in the first of two calls."""
    return on("identity", "input_alias").call(alias="same").call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._dynamo.guards import GuardBuilder

    def skip(self: object, guard: object, source_b: object) -> None:
        pass

    GuardBuilder.DUPLICATE_INPUT  # noqa: B018  (raises where there is none)
    GuardBuilder.DUPLICATE_INPUT = skip


if __name__.startswith("rondo_preload"):
    install()
