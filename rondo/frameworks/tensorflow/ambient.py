"""TensorFlow's and Keras's global state that calls can read: seen, pictured and put back.

One table serves what an observation shows under `ambient.*` and what is restored after every arm.
None of these settings is part of the key under which tf.function keeps a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.common import global_state
from tensorflow.python.debug.lib import check_numerics_callback
from tensorflow.python.eager import context

from rondo.frameworks.shared.observe import RandomStates, random_digests, seed_random


@dataclass(frozen=True, slots=True)
class Mode:
    """One piece of global state: how to read it and how to put a value back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


def checks_numerics() -> bool:
    """Whether `tf.debugging.enable_check_numerics` is on."""
    return hasattr(check_numerics_callback._state, "check_numerics_callback")


def set_check_numerics(on: bool) -> None:
    """Switch numeric checks of every operation on or off."""
    if on:
        tf.debugging.enable_check_numerics()
    else:
        tf.debugging.disable_check_numerics()


KERAS_TRACKERS = ("GLOBAL_STATE_TRACKER", "GLOBAL_SETTINGS_TRACKER")
"""Where Keras keeps what is global to it; `clear_session` puts new objects in their place."""

MODES = (
    Mode(
        "functions_run_eagerly",
        tf.config.functions_run_eagerly,
        lambda on: tf.config.run_functions_eagerly(bool(on)),
    ),
    Mode("check_numerics", checks_numerics, set_check_numerics),
    Mode("floatx", keras.config.floatx, keras.config.set_floatx),
    Mode(
        "dtype_policy",
        lambda: keras.config.dtype_policy().name,
        keras.config.set_dtype_policy,
    ),
    Mode("epsilon", keras.config.epsilon, keras.config.set_epsilon),
    Mode("image_data_format", keras.config.image_data_format, keras.config.set_image_data_format),
    Mode(
        "soft_placement", tf.config.get_soft_device_placement, tf.config.set_soft_device_placement
    ),
    Mode(
        "tensor_float_32",
        tf.config.experimental.tensor_float_32_execution_enabled,
        tf.config.experimental.enable_tensor_float_32_execution,
    ),
    Mode("global_seed", context.global_seed, lambda _: None),
)


def read_ambient() -> dict[str, str]:
    """Return every mode as text, as an observation shows it."""
    return {mode.name: str(mode.read()) for mode in MODES}


def read_random() -> dict[str, str]:
    """Return digests of random states: Python's, numpy's and Keras's own generator's."""
    generator = global_state.get_global_attribute("global_seed_generator")
    keras_state = "none" if generator is None else str(generator.state.numpy().tolist())
    digest = blake2b(keras_state.encode(), digest_size=6).hexdigest()
    return {**random_digests(), "keras": digest}


class Ambient:
    """A picture of modes, random states and Keras's global objects, put back by `restore`."""

    def __init__(self) -> None:
        self._modes = [(mode, mode.read()) for mode in MODES]
        self._random = RandomStates()
        eager = context.context()
        self._seed = eager._seed
        draws = getattr(eager, "_rng", None)
        self._draws = None if draws is None else draws.getstate()
        self._keras = [
            (name, holder, dict(vars(holder)))
            for name in KERAS_TRACKERS
            if (holder := getattr(global_state, name, None)) is not None
        ]

    def restore(self) -> list[str]:
        """Put everything back and return the names of modes that had changed."""
        changed = []
        for mode, value in self._modes:
            if mode.read() != value:
                changed.append(mode.name)
                mode.write(value)
        eager = context.context()
        if eager._seed != self._seed:
            eager._set_global_seed(self._seed)
        if self._draws is not None:
            eager._rng.setstate(self._draws)
        for name, holder, values in self._keras:
            setattr(global_state, name, holder)
            vars(holder).clear()
            vars(holder).update(values)
        self._random.restore()
        return changed


@contextmanager
def ambient(seed: int) -> Iterator[None]:
    """Seed every generator and start Keras anew; on leaving, put all ambient state back."""
    before = Ambient()
    keras.backend.clear_session(free_memory=False)
    seed_everything(seed)
    try:
        yield
    finally:
        before.restore()


def seed_everything(seed: int) -> None:
    """Seed Python, numpy, TensorFlow and Keras, as `keras.utils.set_random_seed` does for users.

    Keras's global generator is made at once: a call that makes it while it is traced is traced
    twice, and so are its side effects.
    """
    keras.utils.set_random_seed(seed)
    keras.random.randint((), 0, 2)
    seed_random(seed)
