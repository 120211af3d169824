"""aot_key_autocast: the key of AOTAutograd's cache does not hold the autocast dtype.

Mechanism: autocast is applied while AOTAutograd traces, so the key of its entry holds what was on.
Broken: the key leaves it out, and Dynamo's graph is the same with and without autocast.
Established by a call without autocast; exposed by the same call under it, compiled anew and served
that entry.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "dtype", "layer": "aotautograd-cache"}
BACKEND = "inductor"


def write(on: Callable[..., Writer]) -> Writer:
    """A call, then the same one under autocast; caches on disk."""
    return (
        on("mlp", cache="disk")
        .program("eval")
        .call(grad="no_grad")
        .call(grad="no_grad", autocast="bfloat16")
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCacheDetails

    collect = AOTAutogradCacheDetails.__init__

    def collect_without_autocast_state(self: object, *rest: object, **named: object) -> None:
        collect(self, *rest, **named)
        del self.autocast_state

    if "self.autocast_state" not in inspect.getsource(inspect.getmodule(AOTAutogradCacheDetails)):
        raise AttributeError("the key of this torch's AOTAutograd cache has no autocast_state")
    AOTAutogradCacheDetails.__init__ = collect_without_autocast_state


if __name__.startswith("rondo_preload"):
    install()
