"""The shared layer vocabulary in TensorFlow: `tf.Module` layers over plain operations.

Plain operations and no Keras layers: a Keras layer costs about a millisecond a call and ten or more
a trace, fifty times an operation, and almost all of a campaign's time would be spent there. What
Keras itself keeps between calls is tried by the constructs that hold Keras layers and models.

Every layer's code is marked as needing no AutoGraph conversion, as Keras marks its own: none of it
branches on tensors. `training` is no attribute but an argument of the subject, as TensorFlow's
guides ask, so that it is part of the key under which tf.function keeps a trace.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf


class _Local(threading.local):
    """What layers reach for while they are built or run, per thread."""

    source: np.random.Generator | None = None
    dtype: Any = None
    training: bool = True


local = _Local()


@contextmanager
def building(seed: int, dtype: Any) -> Iterator[None]:
    """Draw parameters from `seed` in `dtype`: equal numbers in every dtype, up to rounding."""
    before = local.source, local.dtype
    local.source, local.dtype = np.random.default_rng(seed), dtype
    try:
        yield
    finally:
        local.source, local.dtype = before


@contextmanager
def training_mode(training: bool) -> Iterator[None]:
    """Have layers behave as in training, or not."""
    before, local.training = local.training, training
    try:
        yield
    finally:
        local.training = before


def initial(shape: Sequence[int], scale: float = 1.0, fill: float | None = None) -> np.ndarray:
    """Return initial values of the current `building`: normal times `scale`, or equal to `fill`."""
    assert local.source is not None, "parameters are made inside `building`"
    drawn = local.source.standard_normal(tuple(shape)) * scale
    values = drawn if fill is None else np.full(tuple(shape), fill)
    # Rounded to float32 first, so that the float64 reference has the very same parameters.
    return values.astype(np.float32)


def own_dtype() -> Any:
    """Return the dtype of the current `building`: float64 for the reference."""
    return local.dtype


def parameter(
    shape: Sequence[int],
    *,
    scale: float = 1.0,
    fill: float | None = None,
    trainable: bool = True,
) -> tf.Variable:
    """Return a new variable: normal values times `scale`, or all equal to `fill`."""
    values = initial(shape, scale, fill)
    return tf.Variable(tf.cast(values, own_dtype()), trainable=trainable)


class Module(tf.Module):
    """The base of architectures and layers: calling it runs `forward`."""

    @property
    def training(self) -> bool:
        """Whether the current call is one of training: an argument of the subject."""
        return local.training

    @tf.autograph.experimental.do_not_convert
    def __call__(self, *inputs: Any) -> Any:
        """Run `forward`."""
        return self.forward(*inputs)

    def forward(self, *inputs: Any) -> Any:
        """Map inputs to outputs."""
        raise TypeError(f"{type(self).__name__} defines no forward")

    def add_buffer(self, name: str, shape: Sequence[int], fill: float = 0.0) -> None:
        """Add state that is no parameter."""
        setattr(self, name, parameter(shape, fill=fill, trainable=False))

    def set_buffer(self, name: str, value: Any) -> None:
        """Assign a buffer."""
        buffer = getattr(self, name)
        buffer.assign(tf.cast(tf.stop_gradient(value), buffer.dtype))


class Linear(Module):
    """A dense layer over the last axis."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = parameter((inputs, outputs), scale=inputs**-0.5)
        self.bias = parameter((outputs,), scale=0.1) if bias else None

    def forward(self, x: Any) -> Any:
        """Return x @ weight + bias."""
        x = tf.matmul(x, self.weight)
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
        margin = int(self.weight.shape[0]) // 2
        padding = [[0, 0], [margin, margin], [margin, margin], [0, 0]]
        if self.groups == 1:
            x = tf.nn.conv2d(x, self.weight, self.stride, padding)
        else:
            x = self._grouped(x, padding)
        return x if self.bias is None else x + self.bias

    def _grouped(self, x: Any, padding: list[list[int]]) -> Any:
        # TensorFlow on a CPU has no gradient for grouped convolutions: one convolution per group,
        # or a depthwise one where each channel is a group.
        if self.groups == x.shape[-1]:
            channels, multiples = x.shape[-1], int(self.weight.shape[-1]) // x.shape[-1]
            size = tuple(self.weight.shape[:2])
            weight = tf.reshape(self.weight, (*size, channels, multiples))
            strides = [1, self.stride, self.stride, 1]
            return tf.nn.depthwise_conv2d(x, weight, strides, padding)
        parts = zip(
            tf.split(x, self.groups, -1), tf.split(self.weight, self.groups, -1), strict=True
        )
        return tf.concat([tf.nn.conv2d(a, w, self.stride, padding) for a, w in parts], -1)


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
            mean, variance = tf.nn.moments(x, list(range(len(x.shape) - 1)))
            for name, new in (("mean", mean), ("variance", variance)):
                old = tf.convert_to_tensor(getattr(self, name))
                self.set_buffer(name, old + (tf.cast(new, old.dtype) - old) * self.momentum)
        else:
            mean, variance = tf.cast(self.mean, x.dtype), tf.cast(self.variance, x.dtype)
        return (x - mean) * tf.math.rsqrt(variance + self.eps) * self.weight + self.bias


class LayerNorm(Module):
    """Normalises over the last axis."""

    def __init__(self, features: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.bias = parameter((features,), fill=0.0)
        self.eps = eps

    def forward(self, x: Any) -> Any:
        """Normalise."""
        # By hand: `tf.nn.moments` takes twice as many operations.
        centred = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
        return centred * tf.math.rsqrt(variance + self.eps) * self.weight + self.bias


class Embedding(Module):
    """A table of rows."""

    def __init__(self, tokens: int, features: int) -> None:
        super().__init__()
        self.weight = parameter((tokens, features))

    def forward(self, indices: Any) -> Any:
        """Return the rows."""
        return take(self.weight, indices)


class Dropout(Module):
    """Drops elements, or with `per_sample` whole samples, at `rate` in training.

    The generator's state is a variable: eager calls and traces draw the same numbers, which those
    of `tf.random.uniform` by design do not. Integers are drawn, not floats: XLA turns the same bits
    into other floats than the kernels of a plain graph do.
    """

    def __init__(self, rate: float, *, per_sample: bool = False) -> None:
        super().__init__()
        self.rate = rate
        self.per_sample = per_sample
        assert local.source is not None
        self.generator = tf.random.Generator.from_seed(int(local.source.integers(2**31)))

    def forward(self, x: Any) -> Any:
        """Drop, and scale up what stays."""
        if not self.training or self.rate == 0.0:
            return x
        keep = 1.0 - self.rate
        whole = tf.shape(x)
        drawn = tf.concat([whole[:1], tf.ones_like(whole[1:])], 0) if self.per_sample else whole
        kept = self.generator.uniform_full_int(drawn, tf.uint32) < int(keep * 2**32)
        return tf.where(kept, x / tf.cast(keep, x.dtype), tf.zeros_like(x))


def loop(step: Callable[[Any, Any], Any], elements: Any, start: Any) -> Any:
    """Return what `step(carry, element)` gives at every time of (batch, length, ...), stacked.

    Unrolled where the length is known, as Keras does with `unroll=True`: the gradient of a loop
    passes lists of tensors, which XLA cannot hand over (and a function that also assigns a variable
    then corrupts memory in TensorFlow 2.21). With open lengths it is `tf.scan`.
    """
    length = elements.shape[1]
    if length is None:
        stacked = tf.scan(step, tf.transpose(elements, (1, 0, 2)), start)
        return tf.nest.map_structure(lambda value: tf.transpose(value, (1, 0, 2)), stacked)
    seen, carry = [], start
    for place in range(length):
        carry = step(carry, elements[:, place])
        seen.append(carry)
    return tf.nest.map_structure(lambda *values: tf.stack(values, 1), *seen)


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
            start = tf.zeros((shape(x)[0], self.hidden), x.dtype)
            state = (start, start)

        def step(carry: Any, projected: Any) -> Any:
            hidden, cell = carry
            entry, forget, update, out = tf.split(projected + self.recurrent(hidden), 4, -1)
            cell = tf.sigmoid(forget) * cell + tf.sigmoid(entry) * tf.tanh(update)
            return tf.sigmoid(out) * tf.tanh(cell), cell

        hiddens, cells = loop(step, self.inputs(x), tuple(state))
        return hiddens, (hiddens[:, -1], cells[:, -1])


class GRU(Module):
    """One GRU layer over (batch, length, inputs)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inputs = Linear(inputs, 3 * hidden)
        self.recurrent = Linear(hidden, 3 * hidden)

    def forward(self, x: Any, state: Any = None) -> Any:
        """Return the outputs of all times and the last state."""
        start = tf.zeros((shape(x)[0], self.hidden), x.dtype) if state is None else state

        def step(hidden: Any, projected: Any) -> Any:
            reset_x, update_x, new_x = tf.split(projected, 3, -1)
            reset_h, update_h, new_h = tf.split(self.recurrent(hidden), 3, -1)
            update = tf.sigmoid(update_x + update_h)
            new = tf.tanh(new_x + tf.sigmoid(reset_x + reset_h) * new_h)
            return (1.0 - update) * new + update * hidden

        outputs = loop(step, self.inputs(x), start)
        return outputs, outputs[:, -1]


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
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "gelu": lambda x: tf.nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    "silu": tf.nn.silu,
    "hardswish": lambda x: x * tf.nn.relu6(x + 3.0) / 6.0,
    "hardsigmoid": lambda x: tf.nn.relu6(x + 3.0) / 6.0,
    "sigmoid": tf.sigmoid,
    "tanh": tf.tanh,
}


def activate(x: Any, name: str) -> Any:
    """Apply the activation called `name`."""
    return _ACTIVATIONS[name](x)


def shape(x: Any) -> tuple[Any, ...]:
    """Return the sizes of `x`: numbers where they are known while tracing, else scalar tensors."""
    static = x.shape.as_list()
    if None not in static:
        return tuple(static)
    dynamic = tf.shape(x)
    return tuple(dynamic[axis] if size is None else size for axis, size in enumerate(static))


def cast(x: Any, like: Any) -> Any:
    """Return `x` in the dtype of `like`."""
    return tf.cast(x, like.dtype)


def softmax(x: Any) -> Any:
    """Return the softmax over the last axis."""
    return tf.nn.softmax(x)


def concat(parts: Sequence[Any], axis: int) -> Any:
    """Join tensors along an axis."""
    return tf.concat(list(parts), axis)


def reshape(x: Any, shape: Sequence[Any]) -> Any:
    """Give `x` another shape."""
    return tf.reshape(x, tuple(shape))


def transpose(x: Any, axes: Sequence[int]) -> Any:
    """Permute the axes."""
    return tf.transpose(x, tuple(axes))


def matmul(a: Any, b: Any) -> Any:
    """Multiply matrices in the last two axes."""
    return tf.matmul(a, b)


def mean(x: Any, axes: Sequence[int], *, keepdims: bool = False) -> Any:
    """Return the mean over axes."""
    return tf.reduce_mean(x, list(axes), keepdims=keepdims)


def max_pool(x: Any, size: int, stride: int) -> Any:
    """Return maxima of windows, padded so that ceil(n / stride) of them fit."""
    return tf.nn.max_pool2d(x, size, stride, "SAME")


def avg_pool(x: Any, size: int, stride: int) -> Any:
    """Return means of windows that fit wholly."""
    return tf.nn.avg_pool2d(x, size, stride, "VALID")


def resize(x: Any, height: Any, width: Any, mode: str) -> Any:
    """Resize an image: `nearest` or `bilinear`."""
    return tf.cast(tf.image.resize(x, (height, width), method=mode), x.dtype)


def roll(x: Any, shifts: Sequence[int], axes: Sequence[int]) -> Any:
    """Rotate along axes."""
    return tf.roll(x, list(shifts), list(axes))


def pad(x: Any, ends: Sequence[Any]) -> Any:
    """Append zeros along axes."""
    return tf.pad(x, [[0, end] for end in ends])


def where(condition: Any, a: Any, b: Any) -> Any:
    """Choose elements."""
    if not tf.is_tensor(a) and tf.is_tensor(b):
        a = tf.cast(a, b.dtype)
    if not tf.is_tensor(b) and tf.is_tensor(a):
        b = tf.cast(b, a.dtype)
    return tf.where(condition, a, b)


def arange(count: Any) -> Any:
    """Return the integers from 0 to count - 1."""
    return tf.range(count)


def take(table: Any, indices: Any) -> Any:
    """Return rows of `table`."""
    return tf.gather(table, indices)


def zeros(shape: Sequence[Any], like: Any) -> Any:
    """Return zeros in the dtype of `like`."""
    return tf.zeros(tuple(shape), like.dtype)


def stop_gradient(x: Any) -> Any:
    """Return `x` without its history."""
    return tf.stop_gradient(x)
