"""guard_tensor_size: the guard on a tensor does not look at its sizes.

Mechanism: TENSOR_MATCH compares each size that the trace took for a constant.
Broken: sizes are passed as unknown, as they are for dimensions that are dynamic. Strides go with
them, since the stride of a contiguous tensor gives its sizes away. The rank is still checked.
Established by a call that folds a size; exposed by the same call with another size.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """Two calls with two batch sizes, where the size decides a branch."""
    return on("identity", "size_branch").call(batch=4).call(batch=2)


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._C._dynamo.guards import GuardManager

    add = GuardManager.add_tensor_match_guard

    def add_without_sizes(
        self: object, value: object, sizes: list, strides: list, *rest: object
    ) -> None:
        add(self, value, [None] * len(sizes), [None] * len(strides), *rest)

    GuardManager.add_tensor_match_guard = add_without_sizes


if __name__.startswith("rondo_preload"):
    install()
