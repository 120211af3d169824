"""guard_function: guards on the identity of functions are left out.

Mechanism: a function is inlined, so what a name means is guarded by identity, of the function or
of its code (FUNCTION_MATCH, CLOSURE_MATCH).
Broken: neither guard is added.
Established by a call that inlines a function; exposed by the same call once the name means another
function.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A global name comes to mean another function between two calls."""
    return on("identity", "global_function").call().change("global_function", "rebind", 0).call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._dynamo.guards import GuardBuilder

    def skip(self: object, guard: object) -> None:
        pass

    for name in ("FUNCTION_MATCH", "CLOSURE_MATCH"):
        getattr(GuardBuilder, name)
        setattr(GuardBuilder, name, skip)


if __name__.startswith("rondo_preload"):
    install()
