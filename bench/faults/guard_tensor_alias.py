"""guard_tensor_alias: the guard that inputs are distinct tensors is left out.

Mechanism: graph inputs that were distinct when traced must stay distinct (NO_TENSOR_ALIASING),
since AOTAutograd takes an update of one for an update of that one alone.
Broken: the guard is not added.
Established by a call with distinct inputs; exposed by a call that passes one tensor twice and
updates it.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "aot_eager"


def write(on: Callable[..., Writer]) -> Writer:
    """One tensor is passed for two inputs in the second of two calls."""
    return on("identity", "input_alias").call().call(alias="same")


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._dynamo import guards

    def install_nothing(*arguments: object) -> None:
        pass

    guards.install_no_tensor_aliasing_guard  # noqa: B018  (raises where there is none)
    guards.install_no_tensor_aliasing_guard = install_nothing


if __name__.startswith("rondo_preload"):
    install()
