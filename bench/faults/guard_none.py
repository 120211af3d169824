"""guard_none: guards that a value is None are left out.

Mechanism: a branch on None is folded, so what was None must stay None (NONE_MATCH).
Broken: the check is not added.
Established by a call that meets None; exposed by the same call once there is something.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """An attribute that was None becomes a tensor between two calls."""
    return on("identity", "none_attribute").call().change("none_attribute", "set_tensor", 0).call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager

    def add_nothing(self: object, *rest: object) -> None:
        pass

    GuardManager.add_none_match_guard  # noqa: B018  (raises where there is none)
    GuardManager.add_none_match_guard = add_nothing


if __name__.startswith("rondo_preload"):
    install()
