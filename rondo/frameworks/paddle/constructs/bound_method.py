"""bound_method: a method of an instance, replaced on the instance."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import ATTRIBUTE
from rondo.subjects.target import Construct


def doubled(hidden: Any) -> Any:
    """Another forward."""
    return hidden * 2.0


class Inner(paddle.nn.Layer):
    def forward(self, hidden: Any) -> Any:
        return hidden * 1.5


class BoundMethod(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.inner = Inner()
        self.act: Any = paddle.tanh

    def forward(self, hidden: Any) -> Any:
        return self.act(self.inner(hidden))


CONSTRUCT = Construct("bound_method", BoundMethod, kind=ATTRIBUTE)


@CONSTRUCT.change()
def set_forward(module: BoundMethod, value: int) -> None:
    """Put another forward on the instance of the inner layer."""
    module.inner.forward = doubled  # type: ignore[method-assign]


@CONSTRUCT.change(values=2)
def set_function(module: BoundMethod, value: int) -> None:
    """Keep another function."""
    module.act = (paddle.nn.functional.relu, paddle.tanh)[value]
