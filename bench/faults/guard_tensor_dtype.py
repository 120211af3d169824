"""guard_tensor_dtype: the guard on a tensor looks at everything but its dtype.

Mechanism: TENSOR_MATCH checks type, dtype, sizes, strides, gradient and dispatch keys of each
input.
Broken: a check of type, sizes, strides and gradient stands in for it.
Established by a call with one dtype; exposed by the same call with another dtype, where the dtype
was folded.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "dtype", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """Two calls with inputs of two dtypes."""
    return on("identity", "buffer_update").call().call(dtype="float64")


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
        requires_grad = value.requires_grad
        _, verbose, stack, pytype, _ = rest

        def check(given: object) -> bool:
            return (
                type(given) is pytype
                and given.requires_grad == requires_grad
                and given.dim() == len(sizes)
                and all(map(allows, sizes, given.shape))
                and all(map(allows, strides, given.stride()))
            )

        self.add_lambda_guard(check, verbose, stack)

    GuardManager.add_tensor_match_guard  # noqa: B018  (raises where there is none)
    GuardManager.add_tensor_match_guard = add_other_facts


if __name__.startswith("rondo_preload"):
    install()
