"""aot_key_grad_mode: the key of AOTAutograd's cache does not say whether gradients were recorded.

Mechanism: a graph compiled under no_grad is an inference graph, so the key of its entry holds the
mode.
Broken: the key leaves it out, and Dynamo's graph is the same in both modes.
Established by a call under no_grad; exposed by the same call with gradients, compiled anew and
served that entry.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "metadata", "layer": "aotautograd-cache"}
BACKEND = "inductor"


def write(on: Callable[..., Writer]) -> Writer:
    """A call under no_grad, then one with gradients; caches on disk."""
    return on("mlp", cache="disk").program("eval").call(grad="no_grad").call()


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCacheDetails

    collect = AOTAutogradCacheDetails.__init__

    def collect_without_grad_enabled(self: object, *rest: object, **named: object) -> None:
        collect(self, *rest, **named)
        del self.grad_enabled

    if "self.grad_enabled" not in inspect.getsource(inspect.getmodule(AOTAutogradCacheDetails)):
        raise AttributeError("the key of this torch's AOTAutograd cache has no grad_enabled")
    AOTAutogradCacheDetails.__init__ = collect_without_grad_enabled


if __name__.startswith("rondo_preload"):
    install()
