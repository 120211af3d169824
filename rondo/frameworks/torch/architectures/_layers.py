"""Pieces that several architectures share: conv-norm-act, squeeze-excite, drop path, attention.

Each is written the way its users write it, with its state in plain sight: a rate or a string that
`forward` reads, a buffer that it writes.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional


class ConvNormAct(nn.Module):
    """Convolution without bias that keeps the map's size (up to its stride), batch norm, act."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        kernel: int = 3,
        stride: int = 1,
        groups: int = 1,
        act: Callable[[Tensor], Tensor] = functional.relu,
        momentum: float | None = 0.1,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False
        )
        self.norm = nn.BatchNorm2d(outputs, eps=eps, momentum=momentum)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


def linear(x: Tensor) -> Tensor:
    """No activation: the linear bottlenecks of mobile networks."""
    return x


class SqueezeExcite(nn.Module):
    """Scale each channel by a gate computed from the means of all channels."""

    def __init__(
        self,
        channels: int,
        squeezed: int,
        *,
        act: Callable[[Tensor], Tensor] = functional.relu,
        gate: Callable[[Tensor], Tensor] = functional.sigmoid,
    ) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, channels, 1)
        self.act = act
        self.gate = gate

    def forward(self, x: Tensor) -> Tensor:
        scale = functional.adaptive_avg_pool2d(x, 1)
        return x * self.gate(self.excite(self.act(self.squeeze(scale))))


class DropPath(nn.Module):
    """Stochastic depth: in training a sample loses its residual branch at `rate`.

    The branches that stay are scaled up, so that the expected value is the one of evaluation.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, branch: Tensor) -> Tensor:
        if self.rate == 0.0 or not self.training:
            return branch
        keep = 1.0 - self.rate
        shape = (branch.shape[0],) + (1,) * (branch.ndim - 1)
        return branch * branch.new_empty(shape).bernoulli_(keep) / keep


class FeedForward(nn.Sequential):
    """The Transformer's two linear layers with GELU between them and dropout behind them."""

    def __init__(self, width: int, hidden: int, *, dropout: float = 0.0) -> None:
        super().__init__(
            nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width), nn.Dropout(dropout)
        )


class Attention(nn.Module):
    """Multi-head attention of `x` to itself, or to `memory`; `mask` is true where it may look."""

    def __init__(self, width: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        """Turn (batch, length, width) into (batch, heads, length, width / heads)."""
        batch, length, _ = x.shape
        return x.reshape(batch, length, self.heads, -1).transpose(1, 2)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        source = x if memory is None else memory
        mixed = functional.scaled_dot_product_attention(
            self.split(self.query(x)),
            self.split(self.key(source)),
            self.split(self.value(source)),
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=causal,
        )
        return self.out(mixed.transpose(1, 2).reshape(x.shape))
