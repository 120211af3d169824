"""user_hook: hooks on a layer of the user's own."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


def halve(layer: Any, inputs: Any) -> Any:
    """A forward pre-hook."""
    return (inputs[0] * 0.5,)


def shift(layer: Any, inputs: Any, outputs: Any) -> Any:
    """A forward post-hook."""
    return outputs + 1.0


class Inner(paddle.nn.Layer):
    def forward(self, hidden: Any) -> Any:
        return paddle.tanh(hidden)


class UserHook(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.inner = Inner()
        self.handles: list[Any] = []

    def forward(self, hidden: Any) -> Any:
        return self.inner(hidden)


CONSTRUCT = Construct("user_hook", UserHook, kind=ATTRIBUTE, guarded=True)


@CONSTRUCT.change()
def add_pre_hook(module: UserHook, value: int) -> None:
    """Register a forward pre-hook."""
    module.handles.append(module.inner.register_forward_pre_hook(halve))


@CONSTRUCT.change()
def add_post_hook(module: UserHook, value: int) -> None:
    """Register a forward post-hook."""
    module.handles.append(module.inner.register_forward_post_hook(shift))


@CONSTRUCT.change()
def remove_hook(module: UserHook, value: int) -> None:
    """Remove the hook that was registered last."""
    if module.handles:
        module.handles.pop().remove()
