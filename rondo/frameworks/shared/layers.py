"""The layer vocabulary: what an adapter supplies so that the shared architectures run on it.

The key insight: 24 architectures for three frameworks would be 72 files that say the same thing,
and a finding in one framework could not be tried on the next. So each is written once, against some
thirty names, and every adapter implements these names with its framework's own layers, operators
and module class (a module of functions and classes is enough: `rondo.frameworks.jax.layers`).
What compilers are sensitive to - Python attributes that a forward reads, buffers that it writes,
layers in lists, training mode - stays plain Python in the architecture's own class, which is a
subclass of the framework's module class. Images are (batch, height, width, channels) throughout,
the one order that all of them compute on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Tensor = Any
"""A tensor of the framework. It has arithmetic, comparison, indexing by slices and `.dtype`."""

ACTIVATIONS = (
    "linear",
    "relu",
    "relu6",
    "gelu",
    "gelu_tanh",
    "silu",
    "hardswish",
    "hardsigmoid",
    "sigmoid",
    "tanh",
)
"""The names that `activate` knows. `gelu` is the exact one."""


class Layers(Protocol):
    """The names an adapter supplies.

    `Module` is the base class of architectures: subclasses call `super().__init__()`, keep layers
    and parameters in attributes and define `forward`, which calling the module runs. It has
    `training` (a bool), `add_buffer(name, shape, fill=0.0)` for a float tensor that is state but no
    parameter, read as an attribute, and `set_buffer(name, value)`, which a forward may call; both
    cast to the buffer's dtype and cut the gradient.
    """

    Module: Any

    Linear: Callable[..., Any]
    """Linear(inputs, outputs, *, bias=True) with attribute `weight`."""
    Conv: Callable[..., Any]
    """Conv(inputs, outputs, kernel=3, *, stride=1, groups=1, bias=True), padded by kernel // 2 on
    every side, with attribute `weight`."""
    BatchNorm: Callable[..., Any]
    """BatchNorm(features, *, momentum=0.1, eps=1e-5) over the last axis. Attributes that `forward`
    reads: `momentum` (the new statistics' share), `eps`, and `frozen` (use the running statistics
    in training too, and leave them alone)."""
    LayerNorm: Callable[..., Any]
    """LayerNorm(features, *, eps=1e-5) over the last axis, with attribute `eps`."""
    Embedding: Callable[..., Any]
    """Embedding(tokens, features) with attribute `weight` of shape (tokens, features)."""
    Dropout: Callable[..., Any]
    """Dropout(rate, *, per_sample=False) with attribute `rate`; `per_sample` drops whole samples
    (stochastic depth). Does nothing unless `training` and rate > 0."""
    LSTM: Callable[..., Any]
    """LSTM(inputs, hidden): `layer(x, state)` with x (batch, length, inputs) and state None or a
    pair (batch, hidden); returns the outputs and the new pair."""
    GRU: Callable[..., Any]
    """GRU(inputs, hidden): `layer(x, state)` with state None or (batch, hidden); returns the
    outputs and the new state."""
    Sequential: Callable[..., Any]
    """Sequential(*layers): calls them in order; attribute `layers` is what it iterates over."""

    def parameter(
        self, shape: Sequence[int], *, scale: float = 1.0, fill: float | None = None
    ) -> Any:
        """Return a new parameter: normal values times `scale`, or all equal to `fill`."""

    def shape(self, x: Tensor) -> tuple[Any, ...]:
        """Return the sizes of `x`, symbolic where the framework traces without knowing them."""

    def cast(self, x: Tensor, like: Tensor) -> Tensor:
        """Return `x` in the dtype of `like`."""

    def activate(self, x: Tensor, name: str) -> Tensor:
        """Apply the activation called `name`, one of `ACTIVATIONS`."""

    def softmax(self, x: Tensor) -> Tensor:
        """Return the softmax over the last axis."""

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Join tensors along an axis."""

    def reshape(self, x: Tensor, shape: Sequence[Any]) -> Tensor:
        """Give `x` another shape; one size may be -1."""

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Permute the axes."""

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """Multiply matrices in the last two axes."""

    def mean(self, x: Tensor, axes: Sequence[int], *, keepdims: bool = False) -> Tensor:
        """Return the mean over axes."""

    def max_pool(self, x: Tensor, size: int, stride: int) -> Tensor:
        """Return maxima of windows, padded so that ceil(n / stride) of them fit (`SAME`)."""

    def avg_pool(self, x: Tensor, size: int, stride: int) -> Tensor:
        """Return means of windows that fit wholly (`VALID`)."""

    def resize(self, x: Tensor, height: Any, width: Any, mode: str) -> Tensor:
        """Resize an image: `nearest` or `bilinear`."""

    def roll(self, x: Tensor, shifts: Sequence[int], axes: Sequence[int]) -> Tensor:
        """Rotate along axes."""

    def pad(self, x: Tensor, ends: Sequence[Any]) -> Tensor:
        """Append `ends[i]` zeros along axis i."""

    def where(self, condition: Tensor, a: Any, b: Any) -> Tensor:
        """Choose elements."""

    def arange(self, count: Any) -> Tensor:
        """Return the integers from 0 to count - 1."""

    def take(self, table: Tensor, indices: Tensor) -> Tensor:
        """Return rows of `table`."""

    def zeros(self, shape: Sequence[Any], like: Tensor) -> Tensor:
        """Return zeros in the dtype of `like`."""

    def stop_gradient(self, x: Tensor) -> Tensor:
        """Return `x` without its history."""
