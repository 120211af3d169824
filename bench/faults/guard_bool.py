"""guard_bool: guards on bools are left out.

Mechanism: a bool that decided a branch is checked at every call (TRUE_MATCH, FALSE_MATCH).
Broken: neither check is added.
Established by a call that branches on a bool; exposed by the same call once the bool is flipped,
by hand or by `eval()`.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A bool of a module is flipped between two calls."""
    return on("identity", "module_flag").call().change("module_flag", "set_shifted", 0).call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager

    def add_nothing(self: object, *rest: object) -> None:
        pass

    for name in ("add_true_match_guard", "add_false_match_guard"):
        getattr(GuardManager, name)
        setattr(GuardManager, name, add_nothing)


if __name__.startswith("rondo_preload"):
    install()
