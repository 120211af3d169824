"""forward_hook: forward hooks and pre-hooks that come and go on layers of the construct.

Dynamo 2.13 skips the guards on hooks of layers by default (`skip_nnmodule_hook_guards`), as its
configuration says: a hook on a layer that had none when the frame was compiled may go unseen.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from rondo.subjects.target import Construct


class Scale(nn.Module):
    """A layer without parameters that takes a keyword argument."""

    def forward(self, hidden: Tensor, factor: float = 1.0) -> Tensor:
        return hidden * factor


class ForwardHook(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.identity = nn.Identity()
        self.scale = Scale()
        self.handles: list[RemovableHandle] = []
        self.calls: list[str] = []

    def forward(self, hidden: Tensor) -> Tensor:
        return self.scale(self.identity(hidden), factor=0.5)


CONSTRUCT = Construct("forward_hook", ForwardHook, kind="module guard")


@CONSTRUCT.change(values=2)
def add_hook(module: ForwardHook, value: int) -> None:
    """Add a forward hook that shifts the output of a layer."""
    layer: nn.Module = (module.identity, module.scale)[value]
    module.handles.append(layer.register_forward_hook(lambda layer, args, output: output + 2))


@CONSTRUCT.change(values=2)
def add_pre_hook(module: ForwardHook, value: int) -> None:
    """Add a forward pre-hook that scales the input of a layer."""
    layer: nn.Module = (module.identity, module.scale)[value]
    module.handles.append(layer.register_forward_pre_hook(lambda layer, args: (args[0] * 0.25,)))


@CONSTRUCT.change(values=2)
def add_keyword_hook(module: ForwardHook, value: int) -> None:
    """Add a pre-hook that replaces the layer's keyword argument."""
    factor = (1.0, -0.5)[value]

    def replace(
        layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, {"factor": factor}

    module.handles.append(module.scale.register_forward_pre_hook(replace, with_kwargs=True))


@CONSTRUCT.change()
def add_recording_hook(module: ForwardHook, value: int) -> None:
    """Add a hook that changes no tensor but writes down that it ran."""
    calls = module.calls
    module.handles.append(
        module.identity.register_forward_hook(lambda layer, args, output: calls.append("identity"))
    )


@CONSTRUCT.change(values=2)
def remove_hooks(module: ForwardHook, value: int) -> None:
    """Remove all of the hooks, or the one added first."""
    while module.handles:
        module.handles.pop(0).remove()
        if value == 1:
            break


@CONSTRUCT.observe
def recorded(module: ForwardHook) -> dict[str, object]:
    """Report what the recording hook wrote down."""
    return {"calls": list(module.calls)}
