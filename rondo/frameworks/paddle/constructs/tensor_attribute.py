"""tensor_attribute: a plain tensor that a layer keeps under a name, in a list and in a dict."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import PARAMETER
from rondo.subjects.target import Construct


class TensorAttribute(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = paddle.to_tensor([1.0])
        self.several: Any = [paddle.to_tensor([0.5])]
        self.named: Any = {"shift": paddle.to_tensor([0.25])}

    def forward(self, hidden: Any) -> Any:
        scaled = hidden * paddle.cast(self.factor, hidden.dtype)
        return scaled + paddle.cast(self.several[0] * self.named["shift"], hidden.dtype)


CONSTRUCT = Construct("tensor_attribute", TensorAttribute, kind=PARAMETER, guarded=True)


@CONSTRUCT.change(values=2)
def replace(module: TensorAttribute, value: int) -> None:
    """Put another tensor under the name."""
    module.factor = paddle.to_tensor([(0.5, 1.0)[value]])


@CONSTRUCT.change(values=2)
def write(module: TensorAttribute, value: int) -> None:
    """Write into the tensor."""
    paddle.assign(paddle.to_tensor([(2.0, 1.0)[value]]), module.factor)


@CONSTRUCT.change(values=2)
def replace_in_list(module: TensorAttribute, value: int) -> None:
    """Put another tensor into the list."""
    module.several[0] = paddle.to_tensor([(2.0, 0.5)[value]])


@CONSTRUCT.change(values=2)
def replace_in_dict(module: TensorAttribute, value: int) -> None:
    """Put another tensor into the dict."""
    module.named["shift"] = paddle.to_tensor([(3.0, 0.25)[value]])
