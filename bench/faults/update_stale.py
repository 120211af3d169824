"""update_stale: from its second run on, a compiled graph leaves the first run's values in updated
inputs.

Mechanism: AOTAutograd makes updates of inputs functional and ends the graph with copies into those
inputs.
Broken: every run but the first one of a compiled graph copies what the first one had copied.
The layer is AOTAutograd's runtime, filed under autograd: no cache is involved.
Established by a call that updates a buffer; exposed by another one that the same compiled graph
serves.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "autograd"}
BACKEND = "aot_eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A buffer is updated in the forward of two calls."""
    return on("identity", "buffer_update").call(times=2)


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._functorch._aot_autograd import runtime_wrappers

    create = runtime_wrappers._create_runtime_wrapper

    def create_remembering(
        compiled: object, *, runtime_metadata: object, **named: object
    ) -> object:
        updated = runtime_metadata.mutated_graph_handled_indices
        if not updated or not getattr(compiled, "_boxed_call", False):
            return create(compiled, runtime_metadata=runtime_metadata, **named)
        first: list = []

        def run(arguments: list) -> object:
            held = [arguments[index] for index in updated]
            outs = compiled(arguments)
            if not first:
                first.extend(each.detach().clone() for each in held)
            for old, new in zip(first, held, strict=True):
                if old.shape == new.shape and old.dtype == new.dtype:
                    new.data.copy_(old)
            return outs

        run._boxed_call = True
        return create(run, runtime_metadata=runtime_metadata, **named)

    runtime_wrappers._create_runtime_wrapper = create_remembering


if __name__.startswith("rondo_preload"):
    install()
