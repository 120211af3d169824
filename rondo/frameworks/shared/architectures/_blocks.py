"""Pieces that several architectures share: conv-norm-act, squeeze-excite, attention, feed-forward.

Each is a function from the layer vocabulary to a class, cached, so that all architectures of one
framework use one class.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def conv_norm_act(nn: Any) -> Any:
    """Return the class: convolution without bias, batch norm, activation by name."""

    class ConvNormAct(nn.Module):
        def __init__(
            self,
            inputs: int,
            outputs: int,
            *,
            kernel: int = 3,
            stride: int = 1,
            groups: int = 1,
            act: str = "relu",
            momentum: float = 0.1,
            eps: float = 1e-5,
        ) -> None:
            super().__init__()
            self.conv = nn.Conv(inputs, outputs, kernel, stride=stride, groups=groups, bias=False)
            self.norm = nn.BatchNorm(outputs, momentum=momentum, eps=eps)
            self.act = act

        def forward(self, x: Any) -> Any:
            return nn.activate(self.norm(self.conv(x)), self.act)

    return ConvNormAct


@cache
def squeeze_excite(nn: Any) -> Any:
    """Return the class: scale each channel by a gate computed from the means of all channels."""

    class SqueezeExcite(nn.Module):
        def __init__(
            self, channels: int, squeezed: int, *, act: str = "relu", gate: str = "sigmoid"
        ) -> None:
            super().__init__()
            self.squeeze = nn.Conv(channels, squeezed, 1)
            self.excite = nn.Conv(squeezed, channels, 1)
            self.act = act
            self.gate = gate

        def forward(self, x: Any) -> Any:
            scale = nn.activate(self.squeeze(nn.mean(x, (1, 2), keepdims=True)), self.act)
            return x * nn.activate(self.excite(scale), self.gate)

    return SqueezeExcite


@cache
def feed_forward(nn: Any) -> Any:
    """Return the class: the Transformer's two linear layers, an activation, dropout."""

    class FeedForward(nn.Module):
        def __init__(
            self, width: int, hidden: int, *, dropout: float = 0.0, act: str = "gelu"
        ) -> None:
            super().__init__()
            self.expand = nn.Linear(width, hidden)
            self.project = nn.Linear(hidden, width)
            self.dropout = nn.Dropout(dropout)
            self.act = act

        def forward(self, x: Any) -> Any:
            return self.dropout(self.project(nn.activate(self.expand(x), self.act)))

    return FeedForward


@cache
def attention(nn: Any) -> Any:
    """Return the class: multi-head attention; `mask` is true where a place may be looked at."""

    class Attention(nn.Module):
        def __init__(self, width: int, heads: int, *, dropout: float = 0.0) -> None:
            super().__init__()
            self.heads = heads
            self.query = nn.Linear(width, width)
            self.key = nn.Linear(width, width)
            self.value = nn.Linear(width, width)
            self.out = nn.Linear(width, width)
            self.dropout = nn.Dropout(dropout)

        def split(self, x: Any) -> Any:
            """Turn (batch, length, width) into (batch, heads, length, width / heads)."""
            batch, length, width = nn.shape(x)
            parts = nn.reshape(x, (batch, length, self.heads, width // self.heads))
            return nn.transpose(parts, (0, 2, 1, 3))

        def forward(self, x: Any, memory: Any = None, mask: Any = None) -> Any:
            source = x if memory is None else memory
            query, key = self.split(self.query(x)), self.split(self.key(source))
            width = nn.shape(query)[3]
            scores = nn.matmul(query, nn.transpose(key, (0, 1, 3, 2))) * width**-0.5
            if mask is not None:
                scores = nn.where(mask, scores, scores * 0.0 - 1e4)
            mixed = nn.matmul(self.dropout(nn.softmax(scores)), self.split(self.value(source)))
            batch, length, model = nn.shape(x)
            return self.out(nn.reshape(nn.transpose(mixed, (0, 2, 1, 3)), (batch, length, model)))

    return Attention


def causal_mask(nn: Any, length: Any) -> Any:
    """Return a (length, length) mask under which no place sees later ones."""
    places = nn.arange(length)
    return places[:, None] >= places[None, :]
