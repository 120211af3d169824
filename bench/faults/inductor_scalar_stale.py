"""inductor_scalar_stale: a compiled graph keeps the numbers that its first run was given.

Mechanism: a float that became dynamic is passed to Inductor's code as a tensor without dimensions,
read in each run.
Broken: every run but the first one of a compiled graph gets the first run's number.
Established by calls with two values of a float; exposed by a third value that the same graph
serves.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "inductor-codegen"}
BACKEND = "inductor"


def write(on: Callable[..., Writer]) -> Writer:
    """A float attribute takes three values in three calls."""
    return (
        on("identity", "float_attribute")
        .call()
        .change("float_attribute", "set_factor", 0)
        .call()
        .change("float_attribute", "set_factor", 1)
        .call()
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch import Tensor
    from torch._inductor.output_code import CompiledFxGraph

    run = CompiledFxGraph.__call__

    def run_with_first_numbers(self: object, inputs: list) -> object:
        numbers = {
            index: each.clone()
            for index, each in enumerate(inputs)
            if isinstance(each, Tensor) and each.dim() == 0
        }
        first = vars(self).setdefault("first_numbers", numbers)
        for index, number in first.items():
            inputs[index] = number.clone()
        return run(self, inputs)

    CompiledFxGraph.__call__ = run_with_first_numbers


if __name__.startswith("rondo_preload"):
    install()
