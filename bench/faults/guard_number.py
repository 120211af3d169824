"""guard_number: guards on Python numbers are left out.

Mechanism: an int or float that a trace folded into the graph is compared at every call
(EQUALS_MATCH).
Broken: the comparison is not added for ints and floats; strings, tuples and dtypes keep theirs.
Established by a call that folds a number; exposed by the same call once the number is another one.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A float attribute changes between two calls."""
    return (
        on("identity", "float_attribute").call().change("float_attribute", "set_factor", 0).call()
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager

    add = GuardManager.add_equals_match_guard

    def add_unless_number(self: object, value: object, *rest: object) -> None:
        if type(value) not in (int, float):
            add(self, value, *rest)

    GuardManager.add_equals_match_guard = add_unless_number


if __name__.startswith("rondo_preload"):
    install()
