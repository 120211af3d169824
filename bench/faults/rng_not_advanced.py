"""rng_not_advanced: from its second run on, a compiled graph leaves the generator where it was.

Mechanism: a graph with random operators advances the generator by what it draws.
Broken: every run but the first one of a compiled graph puts the generator's state back afterwards.
Established by a call that draws; exposed by the same call: it draws as it should, and the next
draws the same.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "fact", "layer": "rng"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """Two equal calls of a forward that draws."""
    return on("identity", "torch_random").call(times=2)


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    import torch
    from torch._dynamo.output_graph import OutputGraph

    compile_graph = OutputGraph.call_user_compiler

    def compile_restoring(self: object, *rest: object, **named: object) -> object:
        run = compile_graph(self, *rest, **named)
        runs = 0

        def restored(*arguments: object) -> object:
            nonlocal runs
            runs += 1
            before = torch.get_rng_state()
            outs = run(*arguments)
            if runs > 1:
                torch.set_rng_state(before)
            return outs

        return restored

    OutputGraph.call_user_compiler = compile_restoring


if __name__.startswith("rondo_preload"):
    install()
