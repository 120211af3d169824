"""The shared layer vocabulary in JAX: pytree layers over `jax.lax` and `jax.nn`.

Written with what JAX itself offers and no library on top: the fault that is found is then JAX's.
LSTM and GRU run `jax.lax.scan`, whose traces JAX keeps even without jit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from rondo.frameworks.jax.module import Module as Module
from rondo.frameworks.jax.module import initial, next_key

IMAGE_AXES = ("NHWC", "HWIO", "NHWC")


def parameter(shape: Sequence[int], *, scale: float = 1.0, fill: float | None = None) -> Array:
    """Return a new parameter: normal values times `scale`, or all equal to `fill`."""
    if fill is not None:
        return jnp.asarray(np.full(tuple(shape), fill, np.float32))
    return initial(tuple(shape), scale)


class Linear(Module):
    """A dense layer over the last axis."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = parameter((inputs, outputs), scale=inputs**-0.5)
        self.bias = parameter((outputs,), scale=0.1) if bias else None

    def forward(self, x: Any) -> Any:
        """Return x @ weight + bias."""
        x = jnp.matmul(x, self.weight)
        return x if self.bias is None else x + self.bias


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
        self.weight = parameter((kernel, kernel, inputs // groups, outputs), scale=fan**-0.5)
        self.bias = parameter((outputs,), scale=0.1) if bias else None
        self.stride = stride
        self.groups = groups

    def forward(self, x: Any) -> Any:
        """Convolve, padded by kernel // 2 on every side."""
        margin = self.weight.shape[0] // 2
        x = lax.conv_general_dilated(
            x,
            self.weight,
            (self.stride, self.stride),
            [(margin, margin)] * 2,
            dimension_numbers=IMAGE_AXES,
            feature_group_count=self.groups,
        )
        return x if self.bias is None else x + self.bias


class BatchNorm(Module):
    """Normalises over all axes but the last; running statistics are buffers."""

    def __init__(self, features: int, *, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.bias = parameter((features,), fill=0.0)
        self.momentum = momentum
        self.eps = eps
        self.frozen = False
        self.add_buffer("mean", (features,))
        self.add_buffer("variance", (features,), 1.0)

    def forward(self, x: Any) -> Any:
        """Normalise, in training by the batch's own statistics."""
        if self.training and not self.frozen:
            axes = tuple(range(x.ndim - 1))
            mean, variance = jnp.mean(x, axes), jnp.var(x, axes)
            keep = 1.0 - self.momentum
            for name, new in (("mean", mean), ("variance", variance)):
                old = self.buffers[name]
                self.set_buffer(name, keep * old + self.momentum * new.astype(old.dtype))
        else:
            mean, variance = (self.buffers[name].astype(x.dtype) for name in ("mean", "variance"))
        return (x - mean) * lax.rsqrt(variance + self.eps) * self.weight + self.bias


class LayerNorm(Module):
    """Normalises over the last axis."""

    def __init__(self, features: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.bias = parameter((features,), fill=0.0)
        self.eps = eps

    def forward(self, x: Any) -> Any:
        """Normalise."""
        mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + self.eps) * self.weight + self.bias


class Embedding(Module):
    """A table of rows."""

    def __init__(self, tokens: int, features: int) -> None:
        super().__init__()
        self.weight = parameter((tokens, features))

    def forward(self, indices: Any) -> Any:
        """Return the rows."""
        return take(self.weight, indices)


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
        keep = 1.0 - self.rate
        shape = (x.shape[0],) + (1,) * (x.ndim - 1) if self.per_sample else x.shape
        # Drawn in float32 whatever x is: the float64 reference must drop the same elements.
        kept = jax.random.uniform(next_key(), shape, jnp.float32) < keep
        return jnp.where(kept, x / keep, jnp.zeros_like(x))


class LSTM(Module):
    """One LSTM layer over (batch, length, inputs)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inputs = Linear(inputs, 4 * hidden)
        self.recurrent = Linear(hidden, 4 * hidden, bias=False)

    def forward(self, x: Any, state: Any = None) -> Any:
        """Return the outputs of all times and the last (hidden, cell)."""
        if state is None:
            start = jnp.zeros((x.shape[0], self.hidden), x.dtype)
            state = (start, start)

        def step(carry: Any, projected: Any) -> Any:
            hidden, cell = carry
            entry, forget, update, out = jnp.split(projected + self.recurrent(hidden), 4, -1)
            cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(entry) * jnp.tanh(update)
            hidden = jax.nn.sigmoid(out) * jnp.tanh(cell)
            return (hidden, cell), hidden

        after, outputs = lax.scan(step, state, jnp.swapaxes(self.inputs(x), 0, 1))
        return jnp.swapaxes(outputs, 0, 1), after


class GRU(Module):
    """One GRU layer over (batch, length, inputs)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inputs = Linear(inputs, 3 * hidden)
        self.recurrent = Linear(hidden, 3 * hidden)

    def forward(self, x: Any, state: Any = None) -> Any:
        """Return the outputs of all times and the last state."""
        start = jnp.zeros((x.shape[0], self.hidden), x.dtype) if state is None else state

        def step(hidden: Any, projected: Any) -> Any:
            reset_x, update_x, new_x = jnp.split(projected, 3, -1)
            reset_h, update_h, new_h = jnp.split(self.recurrent(hidden), 3, -1)
            update = jax.nn.sigmoid(update_x + update_h)
            new = jnp.tanh(new_x + jax.nn.sigmoid(reset_x + reset_h) * new_h)
            hidden = (1.0 - update) * new + update * hidden
            return hidden, hidden

        after, outputs = lax.scan(step, start, jnp.swapaxes(self.inputs(x), 0, 1))
        return jnp.swapaxes(outputs, 0, 1), after


class Sequential(Module):
    """Layers in order."""

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        self.layers = list(layers)

    def forward(self, x: Any) -> Any:
        """Call every layer on what the one before returned."""
        for layer in self.layers:
            x = layer(x)
        return x


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda x: x,
    "relu": jax.nn.relu,
    "relu6": jax.nn.relu6,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True),
    "silu": jax.nn.silu,
    "hardswish": jax.nn.hard_swish,
    "hardsigmoid": jax.nn.hard_sigmoid,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
}


def activate(x: Any, name: str) -> Any:
    """Apply the activation called `name`."""
    return _ACTIVATIONS[name](x)


def shape(x: Any) -> tuple[int, ...]:
    """Return the sizes of `x`: always numbers, since JAX traces one program per shape."""
    return tuple(x.shape)


def cast(x: Any, like: Any) -> Any:
    """Return `x` in the dtype of `like`."""
    return x.astype(like.dtype)


def softmax(x: Any) -> Any:
    """Return the softmax over the last axis."""
    return jax.nn.softmax(x, axis=-1)


def concat(parts: Sequence[Any], axis: int) -> Any:
    """Join arrays along an axis."""
    return jnp.concatenate(list(parts), axis)


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """Give `x` another shape."""
    return jnp.reshape(x, tuple(shape))


def transpose(x: Any, axes: Sequence[int]) -> Any:
    """Permute the axes."""
    return jnp.transpose(x, tuple(axes))


def matmul(a: Any, b: Any) -> Any:
    """Multiply matrices in the last two axes."""
    return jnp.matmul(a, b)


def mean(x: Any, axes: Sequence[int], *, keepdims: bool = False) -> Any:
    """Return the mean over axes."""
    return jnp.mean(x, tuple(axes), keepdims=keepdims)


def max_pool(x: Any, size: int, stride: int) -> Any:
    """Return maxima of windows, padded so that ceil(n / stride) of them fit."""
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "SAME")


def avg_pool(x: Any, size: int, stride: int) -> Any:
    """Return means of windows that fit wholly."""
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, 0.0, lax.add, window, strides, "VALID") / (size * size)


def resize(x: Any, height: int, width: int, mode: str) -> Any:
    """Resize an image: `nearest` or `bilinear`."""
    return jax.image.resize(x, (x.shape[0], height, width, x.shape[3]), mode).astype(x.dtype)


def roll(x: Any, shifts: Sequence[int], axes: Sequence[int]) -> Any:
    """Rotate along axes."""
    return jnp.roll(x, tuple(shifts), tuple(axes))


def pad(x: Any, ends: Sequence[int]) -> Any:
    """Append zeros along axes."""
    return jnp.pad(x, [(0, end) for end in ends])


def where(condition: Any, a: Any, b: Any) -> Any:
    """Choose elements."""
    return jnp.where(condition, a, b)


def arange(count: int) -> Any:
    """Return the integers from 0 to count - 1."""
    return jnp.arange(count)


def take(table: Any, indices: Any) -> Any:
    """Return rows of `table`."""
    return jnp.take(table, indices, axis=0, mode="clip")


def zeros(shape: Sequence[int], like: Any) -> Any:
    """Return zeros in the dtype of `like`."""
    return jnp.zeros(tuple(shape), like.dtype)


def stop_gradient(x: Any) -> Any:
    """Return `x` without its history."""
    return lax.stop_gradient(x)
