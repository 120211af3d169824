"""guard_type: guards on the type of an object are left out.

Mechanism: methods, class attributes and `isinstance` are resolved by an object's type, which is
guarded (TYPE_MATCH).
Broken: the guard is not added.
Established by a call that looks something up by class; exposed by the same call once the object
has another class.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A layer is replaced by one of another class between two calls."""
    return on("identity", "module_dict").call().change("module_dict", "set_layer", 0).call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager

    def add_nothing(self: object, *rest: object) -> None:
        pass

    GuardManager.add_type_match_guard  # noqa: B018  (raises where there is none)
    GuardManager.add_type_match_guard = add_nothing


if __name__.startswith("rondo_preload"):
    install()
