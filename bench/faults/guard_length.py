"""guard_length: guards on the length of lists, tuples and deques are left out.

Mechanism: a loop over a list is unrolled, so its length is checked at every call (LENGTH_CHECK).
Broken: the check is not added. Items that were read keep their guards, so only what came behind
them is missed.
Established by a call that unrolls a list; exposed by the same call once the list is longer.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A list gets one more item between two calls."""
    return on("identity", "list_content").call().change("list_content", "resize", 0).call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager

    def add_nothing(self: object, *rest: object) -> None:
        pass

    GuardManager.add_length_check_guard  # noqa: B018  (raises where there is none)
    GuardManager.add_length_check_guard = add_nothing


if __name__.startswith("rondo_preload"):
    install()
