"""tagged_tensor: a traceable wrapper subclass with a tag and an inner tensor that may be absent.

The tag is part of what a graph was traced for: it comes back from `__tensor_flatten__` as context
and must be compared by the guards, as must the set of inner tensors.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class Tagged(Tensor):
    """A tensor that stands for `payload * tag`, plus `extra` if there is one."""

    payload: Tensor
    tag: float
    extra: Tensor | None

    @staticmethod
    def __new__(cls, payload: Tensor, tag: float, extra: Tensor | None = None) -> Tagged:
        wrapper = Tensor._make_wrapper_subclass(
            cls,
            payload.size(),
            strides=payload.stride(),
            dtype=payload.dtype,
            device=payload.device,
            requires_grad=payload.requires_grad,
        )
        wrapper.payload, wrapper.tag, wrapper.extra = payload, tag, extra
        return wrapper

    def __tensor_flatten__(self) -> tuple[list[str], float]:
        return (["payload"] if self.extra is None else ["payload", "extra"]), self.tag

    @staticmethod
    def __tensor_unflatten__(
        parts: dict[str, Tensor], tag: float, size: object, stride: object
    ) -> Tagged:
        return Tagged(parts["payload"], tag, parts.get("extra"))

    def plain(self) -> Tensor:
        whole = self.payload * self.tag
        return whole if self.extra is None else whole + self.extra

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"Tagged(tag={self.tag})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        unwrapped = [arg.plain() if isinstance(arg, Tagged) else arg for arg in args]
        if func is torch.ops.aten.detach.default and isinstance(args[0], Tagged):
            whole = args[0]
            extra = None if whole.extra is None else whole.extra.detach()
            return Tagged(whole.payload.detach(), whole.tag, extra)
        return func(*unwrapped, **(kwargs or {}))


class TaggedTensor(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.shift: Tensor = Tagged(torch.full((features,), 0.25), 2.0)

    def forward(self, hidden: Tensor) -> Tensor:
        return (hidden + self.shift).to(hidden.dtype)


CONSTRUCT = Construct("tagged_tensor", TaggedTensor, kind="subclass metadata", guarded=True)


@CONSTRUCT.change(values=3)
def wrap(module: TaggedTensor, value: int) -> None:
    """Hold a wrapper with another tag, with the same tag as at first, or of another size."""
    payload = torch.full((module.features if value else 1,), 0.25)
    module.shift = Tagged(payload, (2.0, -4.0, 2.0)[value])


@CONSTRUCT.change()
def wrap_with_extra(module: TaggedTensor, value: int) -> None:
    """Hold a wrapper that has the second inner tensor."""
    whole = torch.full((module.features,), 0.25)
    module.shift = Tagged(whole, 2.0, torch.ones(module.features))


@CONSTRUCT.change()
def unwrap(module: TaggedTensor, value: int) -> None:
    """Hold a plain tensor."""
    module.shift = torch.full((module.features,), 0.25)


@CONSTRUCT.change(values=2)
def set_tag(module: TaggedTensor, value: int) -> None:
    """Set the tag of the held wrapper itself."""
    if isinstance(module.shift, Tagged):
        module.shift.tag = (-1.0, 2.0)[value]
