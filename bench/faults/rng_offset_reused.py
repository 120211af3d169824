"""rng_offset_reused: a compiled graph that draws random numbers starts each run where its first
one did.

Mechanism: a graph with random operators draws from the generator as it stands when the graph runs.
Broken: every run but the first one of a graph that draws sets the generator to where the first run
began.
Established by a call that draws; exposed by the same call: it draws the same numbers again.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "rng"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """Two equal calls of a forward that draws."""
    return on("identity", "torch_random").call(times=2)


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    import torch
    from torch._dynamo.output_graph import OutputGraph

    compile_graph = OutputGraph.call_user_compiler

    def compile_rewinding(self: object, *rest: object, **named: object) -> object:
        run = compile_graph(self, *rest, **named)
        start: list[torch.Tensor] = []

        def rewound(*arguments: object) -> object:
            before = torch.get_rng_state()
            if start:
                torch.set_rng_state(start[0])
            outs = run(*arguments)
            if not start and not torch.equal(before, torch.get_rng_state()):
                start.append(before)
            return outs

        return rewound

    OutputGraph.call_user_compiler = compile_rewinding


if __name__.startswith("rondo_preload"):
    install()
