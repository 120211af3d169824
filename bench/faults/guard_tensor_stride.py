"""guard_tensor_stride: the guard on a tensor does not look at its strides.

Mechanism: TENSOR_MATCH compares each stride that the trace took for a constant.
Broken: strides are passed as unknown, as they are for dimensions that are dynamic.
Established by a call that asks for a layout; exposed by the same call once that tensor is
transposed in place.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A tensor is transposed in place between two calls."""
    return (
        on("identity", "tensor_metadata")
        .call()
        .change("tensor_metadata", "edit_in_place", 0)
        .call()
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager

    add = GuardManager.add_tensor_match_guard

    def add_without_strides(
        self: object, value: object, sizes: list, strides: list, *rest: object
    ) -> None:
        add(self, value, sizes, [None] * len(strides), *rest)

    GuardManager.add_tensor_match_guard = add_without_strides


if __name__.startswith("rondo_preload"):
    install()
