"""rng_stale_snapshot: a recompile puts the random state back to where the frame's first compile
found it.

Mechanism: tracing must not advance the generator, so its state is put back when a compile ends.
Broken: what is put back at a frame's later compiles is the state that was taken at its first one.
Established by a call that compiles and draws; exposed by one that compiles again: it repeats the
draws.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "rng"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A dropout rate changes between two calls of a forward that draws."""
    return on("identity", "torch_random").call().change("torch_random", "set_rate", 1).call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    import torch
    from torch._dynamo import convert_frame

    convert = convert_frame.ConvertFrame.__call__

    def convert_restoring(
        self: object, frame: object, entry: object, hooks: object, state: dict, **named: object
    ) -> object:
        taken = state.setdefault("random_state", torch.get_rng_state())
        result = convert(self, frame, entry, hooks, state, **named)
        torch.set_rng_state(taken)
        return result

    convert_frame.ConvertFrame.__call__ = convert_restoring


if __name__.startswith("rondo_preload"):
    install()
