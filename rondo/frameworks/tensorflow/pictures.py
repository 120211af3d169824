"""Pictures of Python state, and tracing again whenever it changed: what the documentation asks for.

TensorFlow's guide says that a trace keeps the Python values it read - attributes, globals,
closures, contents of containers - and that Python side effects happen only while tracing. Whoever
changes such state has to trace again, by making a new tf.function. This module does just that for a
run: with `tracing_again`, compiled calls start from empty traces if Python state changed since the
last one. A difference that goes away under it is the documented limitation, whatever the construct
is called; one that stays, or that needs no change of Python state at all, is a fault.

What a construct passes as arguments is left out, since a trace is found by it. State of
TensorFlow's and Keras's own (configuration, seeds, what a layer keeps under private names) is left
out: no guide asks a user to trace again when it changes.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from rondo.frameworks.shared.observe import random_digests

SCALARS = (type(None), bool, int, float, complex, str, bytes, Enum, tf.DType, range, slice)


class Trigger(Enum):
    """What makes a compiled call trace again under `tracing_again`."""

    CHANGED_BETWEEN = "a step changed Python state since the last call returned"
    CHANGED_WITHIN = "the last call itself changed Python state as well"


_active: list[Trigger] = []
_effects_ahead = [False]
"""Whether tracing ahead of a call has run side effects in this session."""


@contextmanager
def tracing_again(trigger: Trigger) -> Iterator[None]:
    """Have compiled calls trace again whenever `trigger` says so: what an ablation runs under."""
    _active.append(trigger)
    try:
        yield
    finally:
        _active.pop()


def forget_effects() -> None:
    """Know of no side effects: a session begins."""
    _effects_ahead[0] = False


class Tracker:
    """Tells, before each compiled call of one arm, whether the guide would have traces dropped."""

    def __init__(self, roots: Callable[[], list[object]]) -> None:
        self._roots = roots
        self._before: Picture | None = None
        self._after: Picture | None = None
        self._draws = False

    def stale(self) -> bool:
        """Whether Python state is another than at the last call; call it before each call."""
        if not _active:
            return False
        last, earlier = self._after, self._before
        self._before = now = Picture(self._roots())
        if last is None or earlier is None:
            return False
        # Seeding a generator that no trace draws from is no reason to trace again.
        if now.differs(last, draws=self._draws, keras_too=True):
            return True
        within = _active[-1] is Trigger.CHANGED_WITHIN
        return within and now.differs(earlier, draws=self._draws, keras_too=False)

    def called(self) -> None:
        """Note the state after a call."""
        if _active:
            self._after = Picture(self._roots())
            before = self._before
            self._draws |= before is not None and before.random != self._after.random

    @contextmanager
    def ahead(self) -> Iterator[bool]:
        """Trace ahead of a call in here, if told to.

        That runs side effects which eager code does not run before the call. So a run in which side
        effects happen as in eager code traces nothing ahead, if it was seen before that there are.
        """
        lifted = bool(_active) and _active[-1] is Trigger.CHANGED_WITHIN
        if lifted and _effects_ahead[0]:
            yield False
            return
        before = Picture(self._roots())
        yield True
        if Picture(self._roots()).differs(before, draws=True, keras_too=False):
            _effects_ahead[0] = True


class Picture:
    """Python state reachable from some roots: equal where the state is.

    Objects of this project and of plain Python are followed; tensors, variables and whatever is
    unknown count by identity. The second visit of an object counts as where the first one was, so
    that which names share an object is part of the picture. `own` leaves out what Keras objects
    hold: a call builds them, which is no side effect of the user's.
    """

    def __init__(self, roots: list[object]) -> None:
        self.every = _Walk(keras_too=True).token(roots)
        self.own = _Walk(keras_too=False).token(roots)
        self.random = random_digests()

    def differs(self, other: Picture, *, draws: bool, keras_too: bool) -> bool:
        """Whether state differs: the global generators' as well if the program draws from them."""
        if draws and self.random != other.random:
            return True
        return bool(self.every != other.every if keras_too else self.own != other.own)


class _Walk:
    def __init__(self, *, keras_too: bool) -> None:
        self.keras_too = keras_too
        self.seen: dict[int, int] = {}
        self.kept: list[object] = []

    def token(self, value: Any) -> Any:
        """Return what stands for `value` in a picture."""
        if isinstance(value, SCALARS):
            return (type(value).__qualname__, repr(value))
        if id(value) in self.seen:
            return ("again", self.seen[id(value)])
        self.seen[id(value)] = len(self.seen)
        # What was made only to be looked at must outlive the walk, or its id would come again.
        self.kept.append(value)
        for kind, follow in FOLLOWED:
            if isinstance(value, kind):
                return (type(value).__qualname__, follow(self, value))
        if hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
            return self.instance(value)
        return (type(value).__qualname__, id(value))

    def items(self, values: Any) -> Any:
        """Return the tokens of a container's items in order."""
        return tuple(self.token(item) for item in values)

    def mapping(self, values: Any) -> Any:
        """Return the tokens of a mapping's entries in order."""
        return tuple((self.token(key), self.token(item)) for key, item in values.items())

    def attributes(self, values: Any) -> Any:
        """Return the tokens of attributes; their order means nothing."""
        return tuple((name, self.token(values[name])) for name in sorted(values))

    def instance(self, value: Any) -> Any:
        """Return the token of an object: its class and its attributes."""
        if isinstance(value, ModuleType):
            return ("module", value.__name__)
        cls = type(value)
        of_keras = is_keras(cls)
        if of_keras and not self.keras_too:
            return "of Keras"
        if not (of_keras or followed(cls)):
            return (cls.__qualname__, id(value))
        state = dict(getattr(value, "__dict__", {}))
        for name in (n for base in cls.__mro__ for n in getattr(base, "__slots__", ())):
            if hasattr(value, name):
                state[name] = getattr(value, name)
        private = of_keras or isinstance(value, (keras.Layer, tf.Module))
        passed = getattr(cls, "passed", ())
        names = {
            n: v for n, v in state.items() if n not in passed and not (private and hidden(n, v))
        }
        # A trace is found by what is passed, but for what an object that is passed holds.
        objects = [self.objects(state[name]) for name in passed if name in state]
        return (self.token(cls), self.attributes(names), objects)

    def objects(self, value: Any) -> Any:
        """Return the tokens of the objects of user's classes in what is passed."""
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            return tuple(self.objects(item) for item in value)
        plain = isinstance(value, (*SCALARS, tf.experimental.ExtensionType)) or tf.is_tensor(value)
        return None if plain or not followed(type(value)) else self.token(value)

    def layer(self, value: Any) -> Any:
        """Return the token of a Keras layer: what a user can set on it, and its sublayers."""
        public = {n: v for n, v in vars(value).items() if not hidden(n, v)}
        if not self.keras_too:
            kept = {n: v for n, v in public.items() if not is_keras(type(v))}
            return self.attributes(kept) if followed(type(value)) else "of Keras"
        return (
            value.trainable,
            value.dtype_policy.name,
            self.attributes(public),
            self.token(type(value)) if followed(type(value)) else type(value).__qualname__,
        )

    def function(self, value: Any) -> Any:
        """Return the token of a function: code, defaults, closure and attributes."""
        cells = value.__closure__ or ()
        return (
            id(value.__code__),
            self.token(value.__defaults__),
            self.token(value.__kwdefaults__),
            tuple(self.token(cell_content(cell)) for cell in cells),
            self.attributes(vars(value)),
        )

    def cls(self, value: Any) -> Any:
        """Return the token of a class: what its body and later assignments put on it."""
        if not followed(value):
            return value.__qualname__
        own = {
            name: item
            for name, item in vars(value).items()
            if not name.startswith("__") or callable(item)
        }
        return (value.__qualname__, self.attributes(own))


def followed(cls: type) -> bool:
    """Whether a class is a user's: not TensorFlow's, Keras's or the standard library's."""
    package = cls.__module__.split(".")[0]
    return package not in (
        "tensorflow",
        "keras",
        "builtins",
        "numpy",
        "abc",
        "threading",
        "ml_dtypes",
    )


def is_keras(cls: type) -> bool:
    """Whether a class is Keras's own."""
    return cls.__module__.split(".")[0] == "keras"


def hidden(name: str, value: object) -> bool:
    """Whether an attribute of a module or layer is private to the framework, or made by it."""
    return name.startswith("_") or isinstance(value, keras.Variable) or name == "built"


def cell_content(cell: Any) -> object:
    """Return what a closure cell holds; an empty one holds nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return "empty cell"


def array_token(walk: _Walk, value: Any) -> Any:
    """Return the token of an array: arrays are written in place, so their values count."""
    data = np.ascontiguousarray(value)
    return (str(data.dtype), data.shape, hashlib.blake2b(data.tobytes(), digest_size=8).digest())


FOLLOWED: tuple[tuple[Any, Callable[[_Walk, Any], Any]], ...] = (
    ((tf.Tensor, tf.Variable, keras.Variable), lambda walk, value: id(value)),
    (tf.random.Generator, lambda walk, value: id(value)),
    (polymorphic_function.Function, lambda walk, value: walk.token(value.python_function)),
    ((list, tuple, deque), _Walk.items),
    (dict, _Walk.mapping),
    ((set, frozenset), lambda walk, value: tuple(sorted(repr(item) for item in value))),
    ((np.ndarray, np.generic), array_token),
    (random.Random, lambda walk, value: hash(value.getstate())),
    (np.random.Generator, lambda walk, value: repr(value.bit_generator.state)),
    (functools.partial, lambda walk, value: walk.items([value.func, value.args, value.keywords])),
    (MethodType, lambda walk, value: walk.items([value.__func__, value.__self__])),
    (FunctionType, _Walk.function),
    (BuiltinFunctionType, lambda walk, value: value.__qualname__),
    ((staticmethod, classmethod), lambda walk, value: walk.token(value.__func__)),
    (property, lambda walk, value: walk.items([value.fget, value.fset])),
    (type, _Walk.cls),
    (keras.Layer, _Walk.layer),
)
"""How each kind of value is followed; the first kind that fits counts."""


def module_state(module: ModuleType) -> dict[str, object]:
    """Return what a module's file defines or its changes rebind, without what it imports."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", module.__name__) == module.__name__
    }
