"""patched_forward: the `forward` of a layer replaced on the instance or on its class."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Layer(nn.Module):
    """A layer of its own class, so that the class can be patched."""

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden.sin()


class PatchedForward(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layer = Layer()

    def forward(self, hidden: Tensor) -> Tensor:
        return self.layer(hidden) + 0.25


CONSTRUCT = Construct("patched_forward", PatchedForward, kind="module guard")


@CONSTRUCT.change(values=3)
def patch_instance(module: PatchedForward, value: int) -> None:
    """Patch the layer itself, or take the patch away."""
    module.layer.__dict__.pop("forward", None)
    if value < 2:
        factor = (0.5, -1.0)[value]
        module.layer.__dict__["forward"] = lambda hidden: hidden * factor


@CONSTRUCT.change(values=2)
def patch_class(module: PatchedForward, value: int) -> None:
    """Patch the class of the layer, or give it a forward like the first."""
    Layer.forward = (lambda self, hidden: hidden.cos(), lambda self, hidden: hidden.sin())[value]  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def patch_call(module: PatchedForward, value: int) -> None:
    """Give the class of the layer a `__call__` of its own, or take it away."""
    if value == 0:
        Layer.__call__ = lambda self, hidden: hidden * 2  # type: ignore[method-assign, misc]
    elif "__call__" in vars(Layer):
        del Layer.__call__
