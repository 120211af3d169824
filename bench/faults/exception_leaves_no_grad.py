"""exception_leaves_no_grad: a call of a compiled module that raises leaves gradient mode off.

Mechanism: whatever way a call of a compiled module ends, the modes that Dynamo had set are put
back.
Broken: when it ends with an exception, gradient mode is off afterwards.
No cache holds this state, so no reset of one cures it: the guilty layer is autograd's mode.
Established by a call that raises; exposed by the next call.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "metadata", "layer": "autograd"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A call without arguments fails, then an ordinary call follows."""
    return on("mlp").program("eval").program("failing_call", 1).call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    import torch
    from torch._dynamo.eval_frame import OptimizedModule

    call = OptimizedModule.__call__

    def call_forgetting(self: object, *rest: object, **named: object) -> object:
        try:
            return call(self, *rest, **named)
        except Exception:
            torch._C._set_grad_enabled(False)
            raise

    OptimizedModule.__call__ = call_forgetting


if __name__.startswith("rondo_preload"):
    install()
