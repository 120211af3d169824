"""The shared layer vocabulary in Paddle: layers of the user's own kind over `nn.functional`.

They subclass `paddle.nn.Layer` and are none of Paddle's, since bytecode capture treats the two
differently: it follows the code of a user's layer and guards what that reads; a layer of Paddle's
own is one opaque operation. So architectures are quiet, and what Paddle does not guard is tried by
the constructs that hold its own layers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812


class _Local(threading.local):
    """What layers are built from, per thread."""

    source: np.random.Generator | None = None
    dtype: str = "float32"


local = _Local()


@contextmanager
def building(seed: int, dtype: str) -> Iterator[None]:
    """Draw parameters from `seed` in `dtype`: equal numbers in every dtype, up to rounding."""
    before = local.source, local.dtype
    local.source, local.dtype = np.random.default_rng(seed), dtype
    try:
        yield
    finally:
        local.source, local.dtype = before


def own_dtype() -> str:
    """Return the dtype of the current `building`: float64 for the reference."""
    return local.dtype


def initial(shape: Sequence[int], scale: float = 1.0, fill: float | None = None) -> np.ndarray:
    """Return initial values of the current `building`: normal times `scale`, or equal to `fill`."""
    assert local.source is not None, "parameters are made inside `building`"
    drawn = local.source.standard_normal(tuple(shape)) * scale
    values = drawn if fill is None else np.full(tuple(shape), fill)
    # Rounded to float32 first, so that the float64 reference has the very same parameters.
    return values.astype(np.float32)


def parameter(shape: Sequence[int], *, scale: float = 1.0, fill: float | None = None) -> Any:
    """Return a new parameter: normal values times `scale`, or all equal to `fill`."""
    values = initial(shape, scale, fill).astype(own_dtype())
    return paddle.create_parameter(
        list(shape), own_dtype(), default_initializer=paddle.nn.initializer.Assign(values)
    )


class Module(paddle.nn.Layer):
    """The base of architectures and layers: calling it runs `forward`."""

    def add_buffer(self, name: str, shape: Sequence[int], fill: float = 0.0) -> None:
        """Add state that is no parameter."""
        values = initial(shape, fill=fill).astype(own_dtype())
        self.register_buffer(name, paddle.to_tensor(values))

    def set_buffer(self, name: str, value: Any) -> None:
        """Assign a buffer."""
        buffer = getattr(self, name)
        # By index: whole-graph capture refuses `paddle.assign` to what was sliced before.
        buffer[:] = paddle.cast(value.detach(), buffer.dtype)


class Linear(Module):
    """A dense layer over the last axis."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = parameter((inputs, outputs), scale=inputs**-0.5)
        self.bias = parameter((outputs,), scale=0.1) if bias else None

    def forward(self, x: Any) -> Any:
        """Return x @ weight + bias."""
        return F.linear(x, self.weight, self.bias)


class Conv(Module):
    """A two-dimensional convolution, channels last."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int = 3,
        *,
        stride: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        fan = kernel * kernel * inputs // groups
        self.weight = parameter((outputs, inputs // groups, kernel, kernel), scale=fan**-0.5)
        self.bias = parameter((outputs,), scale=0.1) if bias else None
        self.stride = stride
        self.groups = groups

    def forward(self, x: Any) -> Any:
        """Convolve, padded by kernel // 2 on every side."""
        x = paddle.transpose(x, (0, 3, 1, 2))
        margin = self.weight.shape[2] // 2
        x = F.conv2d(x, self.weight, self.bias, self.stride, margin, groups=self.groups)
        return paddle.transpose(x, (0, 2, 3, 1))


class BatchNorm(Module):
    """Normalises over all axes but the last, and keeps running statistics."""

    def __init__(self, features: int, *, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.bias = parameter((features,), fill=0.0)
        self.add_buffer("mean", (features,))
        self.add_buffer("variance", (features,), 1.0)
        self.momentum = momentum
        self.eps = eps
        self.frozen = False

    def forward(self, x: Any) -> Any:
        """Normalise with the batch's statistics in training, else with the running ones."""
        if self.training and not self.frozen:
            axes = list(range(len(x.shape) - 1))
            mean = paddle.mean(x, axes)
            variance = paddle.mean((x - mean) * (x - mean), axes)
            self.set_buffer("mean", self.mean + (mean - self.mean) * self.momentum)
            self.set_buffer("variance", self.variance + (variance - self.variance) * self.momentum)
        else:
            mean, variance = paddle.cast(self.mean, x.dtype), paddle.cast(self.variance, x.dtype)
        return (x - mean) * paddle.rsqrt(variance + self.eps) * self.weight + self.bias


class LayerNorm(Module):
    """Normalises over the last axis."""

    def __init__(self, features: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.bias = parameter((features,), fill=0.0)
        self.eps = eps

    def forward(self, x: Any) -> Any:
        """Normalise."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class Embedding(Module):
    """A table of rows."""

    def __init__(self, tokens: int, features: int) -> None:
        super().__init__()
        self.weight = parameter((tokens, features))

    def forward(self, indices: Any) -> Any:
        """Return the rows."""
        return F.embedding(indices, self.weight)


class Dropout(Module):
    """Drops elements, or with `per_sample` whole samples, at `rate` in training."""

    def __init__(self, rate: float, *, per_sample: bool = False) -> None:
        super().__init__()
        self.rate = rate
        self.per_sample = per_sample

    def forward(self, x: Any) -> Any:
        """Drop, and scale up what stays."""
        if not self.training or self.rate == 0.0:
            return x
        if not self.per_sample:
            return F.dropout(x, self.rate)
        keep = 1.0 - self.rate
        # Drawn in float32 whatever `x` is, so that the float64 reference drops the same samples.
        drawn = paddle.uniform([x.shape[0]] + [1] * (len(x.shape) - 1), "float32", 0.0, 1.0)
        return x * paddle.cast(drawn < keep, x.dtype) / keep


class LSTM(Module):
    """One LSTM layer over (batch, length, inputs), unrolled."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inputs = Linear(inputs, 4 * hidden)
        self.recurrent = Linear(hidden, 4 * hidden, bias=False)

    def forward(self, x: Any, state: Any = None) -> Any:
        """Return the outputs of all times and the last (hidden, cell)."""
        projected = self.inputs(x)
        if state is None:
            start = paddle.zeros((x.shape[0], self.hidden), x.dtype)
            state = (start, start)
        hidden, cell = state
        seen = []
        for place in range(x.shape[1]):
            parts = paddle.chunk(projected[:, place] + self.recurrent(hidden), 4, -1)
            cell = F.sigmoid(parts[1]) * cell + F.sigmoid(parts[0]) * paddle.tanh(parts[2])
            hidden = F.sigmoid(parts[3]) * paddle.tanh(cell)
            seen.append(hidden)
        return paddle.stack(seen, 1), (hidden, cell)


class GRU(Module):
    """One GRU layer over (batch, length, inputs), unrolled."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inputs = Linear(inputs, 3 * hidden)
        self.recurrent = Linear(hidden, 3 * hidden)

    def forward(self, x: Any, state: Any = None) -> Any:
        """Return the outputs of all times and the last state."""
        projected = self.inputs(x)
        hidden = state
        if hidden is None:
            hidden = paddle.zeros((x.shape[0], self.hidden), x.dtype)
        seen = []
        for place in range(x.shape[1]):
            reset_x, update_x, new_x = paddle.chunk(projected[:, place], 3, -1)
            reset_h, update_h, new_h = paddle.chunk(self.recurrent(hidden), 3, -1)
            update = F.sigmoid(update_x + update_h)
            new = paddle.tanh(new_x + F.sigmoid(reset_x + reset_h) * new_h)
            hidden = (1.0 - update) * new + update * hidden
            seen.append(hidden)
        return paddle.stack(seen, 1), hidden


class Sequential(Module):
    """Layers in order."""

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        self.layers = paddle.nn.LayerList(layers)

    def forward(self, x: Any) -> Any:
        """Call every layer on what the one before returned."""
        for layer in self.layers:
            x = layer(x)
        return x


def gelu_tanh(x: Any) -> Any:
    """Return the approximate GELU."""
    return F.gelu(x, approximate=True)


def linear(x: Any) -> Any:
    """Return `x`."""
    return x


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "linear": linear,
    "relu": F.relu,
    "relu6": F.relu6,
    "gelu": F.gelu,
    "gelu_tanh": gelu_tanh,
    "silu": F.silu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "sigmoid": F.sigmoid,
    "tanh": paddle.tanh,
}


def activate(x: Any, name: str) -> Any:
    """Apply the activation called `name`."""
    return _ACTIVATIONS[name](x)


def shape(x: Any) -> tuple[Any, ...]:
    """Return the sizes of `x`; bytecode capture makes those that changed symbolic."""
    return tuple(x.shape)


def cast(x: Any, like: Any) -> Any:
    """Return `x` in the dtype of `like`."""
    return paddle.cast(x, like.dtype)


def softmax(x: Any) -> Any:
    """Return the softmax over the last axis."""
    return F.softmax(x, -1)


def concat(parts: Sequence[Any], axis: int) -> Any:
    """Join tensors along an axis."""
    return paddle.concat(list(parts), axis)


def reshape(x: Any, shape: Sequence[Any]) -> Any:
    """Give `x` another shape."""
    return paddle.reshape(x, list(shape))


def transpose(x: Any, axes: Sequence[int]) -> Any:
    """Permute the axes."""
    return paddle.transpose(x, list(axes))


def matmul(a: Any, b: Any) -> Any:
    """Multiply matrices in the last two axes."""
    return paddle.matmul(a, b)


def mean(x: Any, axes: Sequence[int], *, keepdims: bool = False) -> Any:
    """Return the mean over axes."""
    return paddle.mean(x, list(axes), keepdim=keepdims)


def max_pool(x: Any, size: int, stride: int) -> Any:
    """Return maxima of windows, padded so that ceil(n / stride) of them fit."""
    x = F.max_pool2d(paddle.transpose(x, (0, 3, 1, 2)), size, stride, "SAME")
    return paddle.transpose(x, (0, 2, 3, 1))


def avg_pool(x: Any, size: int, stride: int) -> Any:
    """Return means of windows that fit wholly."""
    x = F.avg_pool2d(paddle.transpose(x, (0, 3, 1, 2)), size, stride)
    return paddle.transpose(x, (0, 2, 3, 1))


def resize(x: Any, height: Any, width: Any, mode: str) -> Any:
    """Resize an image: `nearest` or `bilinear`."""
    x = F.interpolate(paddle.transpose(x, (0, 3, 1, 2)), [height, width], mode=mode)
    return paddle.transpose(x, (0, 2, 3, 1))


def roll(x: Any, shifts: Sequence[int], axes: Sequence[int]) -> Any:
    """Rotate along axes."""
    return paddle.roll(x, list(shifts), list(axes))


def pad(x: Any, ends: Sequence[Any]) -> Any:
    """Append zeros along axes."""
    for axis, end in enumerate(ends):
        if end:
            sizes = list(x.shape)
            sizes[axis] = end
            x = paddle.concat([x, paddle.zeros(sizes, x.dtype)], axis)
    return x


def where(condition: Any, a: Any, b: Any) -> Any:
    """Choose elements."""
    return paddle.where(condition, a, b)


def arange(count: Any) -> Any:
    """Return the integers from 0 to count - 1."""
    return paddle.arange(count)


def take(table: Any, indices: Any) -> Any:
    """Return rows of `table`."""
    return F.embedding(indices, table)


def zeros(shape: Sequence[Any], like: Any) -> Any:
    """Return zeros in the dtype of `like`."""
    return paddle.zeros(list(shape), like.dtype)


def stop_gradient(x: Any) -> Any:
    """Return `x` without its history."""
    return x.detach()
