"""inductor_output_reused: a compiled graph writes each result into the memory of its first one.

Mechanism: Inductor's code allocates its outputs anew in every run, unless a cudagraph holds them.
Broken: outputs of every run but the first one are copied into the first run's outputs, and these
are returned.
Established by a call; exposed by a second one, after which the first call's outputs have changed.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "metadata", "layer": "inductor-codegen"}
BACKEND = "inductor"


def write(on: Callable[..., Writer]) -> Writer:
    """Two calls with two sets of input values."""
    return (
        on("identity", "float_attribute")
        .change("float_attribute", "set_factor", 0)
        .call()
        .call(value_seed=1)
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch import Tensor
    from torch._inductor.output_code import CompiledFxGraph

    run = CompiledFxGraph.__call__

    def run_in_place(self: object, inputs: list) -> object:
        outs = list(run(self, inputs))
        first = vars(self).setdefault("first_outputs", outs)
        if first is outs:
            return outs
        for index, (old, new) in enumerate(zip(first, outs, strict=True)):
            same = (
                isinstance(new, Tensor) and old.shape == new.shape and old.stride() == new.stride()
            )
            if same and old.dtype == new.dtype:
                outs[index] = old.detach().copy_(new)
        return outs

    CompiledFxGraph.__call__ = run_in_place


if __name__.startswith("rondo_preload"):
    install()
