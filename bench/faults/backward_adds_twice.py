"""backward_adds_twice: from its second run on, a compiled backward hands its gradients over twice.

Mechanism: AOTAutograd's compiled backward returns one gradient for each input that wants one, to
be accumulated.
Broken: what the backward returns is doubled in every run but the first one of a compiled graph.
Established by a call with a backward; exposed by another one that the same compiled graph serves.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "autograd"}
BACKEND = "aot_eager"


def write(on: Callable[..., Writer]) -> Writer:
    """Two equal calls with a backward."""
    return (
        on("mlp").program("eval").call(backward="once").program("zero_grad").call(backward="once")
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._functorch._aot_autograd.runtime_wrappers import _AutogradBackwardCompiler

    get = _AutogradBackwardCompiler.get_or_compile

    def get_doubling(self: object, **named: object) -> object:
        backward = get(self, **named)
        if not vars(self).setdefault("has_run", False):
            self.has_run = True
            return backward

        def doubled(arguments: list) -> list:
            return [None if each is None else each + each for each in backward(arguments)]

        doubled._boxed_call = True
        return doubled

    _AutogradBackwardCompiler.get_or_compile = get_doubling


if __name__.startswith("rondo_preload"):
    install()
