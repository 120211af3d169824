"""guard_tensor_grad: the guard on a tensor looks at everything but `requires_grad`.

Mechanism: TENSOR_MATCH checks type, dtype, sizes, strides, gradient and dispatch keys of each
input.
Broken: a check of type, dtype, sizes and strides stands in for it.
Established by a call without gradients; exposed by the same call with inputs that want one.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """The input wants a gradient in the second of two calls."""
    return on("identity", "tensor_metadata").call().call(inputs_grad="yes")


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch import Tensor
    from torch._C._dynamo.guards import GuardManager

    def allows(wanted: int | None, given: int) -> bool:
        return wanted in (None, given)

    def add_other_facts(
        self: object,
        value: Tensor,
        sizes: list[int | None],
        strides: list[int | None],
        *rest: object,
    ) -> None:
        dtype = value.dtype
        _, verbose, stack, pytype, _ = rest

        def check(given: object) -> bool:
            return (
                type(given) is pytype
                and given.dtype == dtype
                and given.dim() == len(sizes)
                and all(map(allows, sizes, given.shape))
                and all(map(allows, strides, given.stride()))
            )

        self.add_lambda_guard(check, verbose, stack)

    GuardManager.add_tensor_match_guard  # noqa: B018  (raises where there is none)
    GuardManager.add_tensor_match_guard = add_other_facts


if __name__.startswith("rondo_preload"):
    install()
