"""guard_hasattr: guards on the presence and absence of attributes are left out.

Mechanism: `hasattr` and `getattr` with a default are folded, so the attribute must stay, or stay
away (HASATTR, NOT_PRESENT_IN_GENERIC_DICT, DICT_CONTAINS).
Broken: none of them is added.
Established by a call that misses an attribute; exposed by the same call once the attribute is
there.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """An object gets the attribute that the forward asks for."""
    return on("identity", "hasattr_test").call().change("hasattr_test", "set_shift", 0).call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager
    from torch._dynamo.guards import GuardBuilder

    def skip(self: object, *rest: object, **named: object) -> None:
        pass

    for name in ("HASATTR", "NOT_PRESENT_IN_GENERIC_DICT"):
        getattr(GuardBuilder, name)
        setattr(GuardBuilder, name, skip)
    for name in ("add_dict_contains_guard", "add_no_hasattr_guard"):
        getattr(GuardManager, name)
        setattr(GuardManager, name, skip)


if __name__.startswith("rondo_preload"):
    install()
