"""Modules as pytrees: how JAX users pass a model, its configuration and its state to `jax.jit`.

A module's arrays and layers are the pytree's children; every other attribute (a rate, a flag, the
name of an activation) is auxiliary data, part of the key under which jit keeps a trace. So what an
architecture reads while it is traced is declared to JAX, as its documentation asks, and whatever
differs then is JAX's doing. Buffers are no children: a step takes them and returns new ones.

Auxiliary data compares by type as well as by value. JAX leaves its equality to the user, and to
Python 1 and True are equal.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

State: TypeAlias = dict[str, jax.Array]

UNTRACED = ("buffers",)


class Static:
    """Auxiliary data of one module: equal only to data of equal values and equal types."""

    def __init__(self, entries: tuple[tuple[str, Any], ...]) -> None:
        self.entries = entries
        self.key = tuple((name, typed(value)) for name, value in entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Static{self.entries!r}"


def typed(value: Any) -> Any:
    """Return a key that tells 1 from True and 1.0, 0.0 from -0.0, inside containers too.

    A list or dict is copied into the key: changed in place, it must not change an older key too.
    """
    if type(value) in (tuple, list):
        return (type(value), *(typed(item) for item in value))
    if type(value) is dict:
        return (dict, *((typed(key), typed(item)) for key, item in value.items()))
    if type(value) is set:
        return (set, frozenset(typed(item) for item in value))
    if isinstance(value, float):
        return (float, value.hex())
    return (type(value), value)


def is_child(value: Any) -> bool:
    """Whether an attribute holds arrays or modules, alone or in lists, tuples and dicts."""
    if isinstance(value, (Module, jax.Array, np.ndarray)):
        return True
    if type(value) is dict:
        return any(is_child(item) for item in value.values())
    if type(value) in (list, tuple):
        return any(is_child(item) for item in value)
    # Somebody else's pytree: an Equinox module, a dataclass of parameters, a named tuple.
    return value is not None and not jax.tree_util.all_leaves([value])


class Module:
    """The base of architectures, layers and constructs. Subclasses register themselves."""

    own_static: ClassVar[bool] = False
    """Whether `static_value` is passed as an argument that jit declares static."""

    static_value: Any
    """What a module with `own_static` passes; set by it."""

    def __init__(self) -> None:
        self.training = True
        self.buffers: State = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        jax.tree_util.register_pytree_with_keys(cls, _flatten_with_keys, _unflattener(cls))

    def __call__(self, *inputs: Any) -> Any:
        """Run `forward`, as the other frameworks' modules do."""
        return self.forward(*inputs)

    def forward(self, *inputs: Any) -> Any:
        """Map inputs to outputs."""
        raise TypeError(f"{type(self).__name__} defines no forward")

    def __getattr__(self, name: str) -> Any:
        buffers = self.__dict__.get("buffers", {})
        if name in buffers:
            return buffers[name]
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def add_buffer(self, name: str, shape: tuple[int, ...], fill: float = 0.0) -> None:
        """Add state that is no parameter."""
        self.buffers[name] = jnp.asarray(np.full(shape, fill, np.float32))

    def set_buffer(self, name: str, value: Any) -> None:
        """Put a new value in a buffer's place."""
        old = self.buffers[name]
        self.buffers[name] = jax.lax.stop_gradient(value).astype(old.dtype)


def _split(module: Module) -> tuple[list[tuple[str, Any]], Static]:
    children: list[tuple[str, Any]] = []
    static: list[tuple[str, Any]] = []
    for name, value in module.__dict__.items():
        if name in UNTRACED or (name == "static_value" and module.own_static):
            continue
        (children if is_child(value) else static).append((name, value))
    return children, Static(tuple(static))


def _flatten_with_keys(module: Module) -> Any:
    children, static = _split(module)
    names = tuple(name for name, _ in children)
    keyed = tuple((jax.tree_util.GetAttrKey(name), value) for name, value in children)
    return keyed, (names, static)


def _unflattener(cls: type[Module]) -> Any:
    def unflatten(auxiliary: tuple[tuple[str, ...], Static], children: Any) -> Module:
        names, static = auxiliary
        module: Module = object.__new__(cls)
        module.__dict__.update(static.entries)
        module.__dict__.update(zip(names, children, strict=True))
        module.__dict__["buffers"] = {}
        return module

    return unflatten


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Module]]:
    """Yield every module in `value` with its path, in order of attributes.

    One that is held twice comes twice, as a pytree has its leaves twice; a trace sees two modules.
    """
    if isinstance(value, Module):
        yield path, value
        for name, attribute in list(value.__dict__.items()):
            if name not in UNTRACED:
                yield from walk(attribute, f"{path}.{name}" if path else name)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from walk(item, f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from walk(item, f"{path}.{index}")


def modules(value: Any) -> list[Module]:
    """Return every module in `value` once."""
    return list({id(module): module for _, module in walk(value)}.values())


def read_state(model: Module) -> State:
    """Return all buffers of `model` by path."""
    return {
        f"{path}.{name}": array
        for path, module in walk(model)
        for name, array in module.buffers.items()
    }


def load_state(model: Module, state: State) -> None:
    """Give `model` the buffers that `read_state` returned."""
    modules = dict(walk(model))
    for path, array in state.items():
        owner, _, name = path.rpartition(".")
        modules[owner].buffers[name] = array


class _Local(threading.local):
    """What layers reach for while they are built or run, per thread."""

    generator: np.random.Generator | None = None
    key: Any = None
    drawn: int = 0


local = _Local()


@contextmanager
def building(seed: int) -> Iterator[None]:
    """Draw initial parameters from `seed`: equal seeds give bitwise equal ones."""
    before, local.generator = local.generator, np.random.default_rng(seed)
    try:
        yield
    finally:
        local.generator = before


def initial(shape: tuple[int, ...], scale: float) -> jax.Array:
    """Return normal values of the current `building`, times `scale`."""
    generator = local.generator
    assert generator is not None, "parameters are made inside `building`"
    return jnp.asarray((generator.standard_normal(shape) * scale).astype(np.float32))


@contextmanager
def random_keys(key: Any) -> Iterator[None]:
    """Let layers draw random numbers from `key` (two uint32, threefry whatever the default is)."""
    before = (local.key, local.drawn)
    local.key, local.drawn = jax.random.wrap_key_data(key, impl="threefry2x32"), 0
    try:
        yield
    finally:
        local.key, local.drawn = before


def next_key() -> Any:
    """Return a random key that no other layer of this call gets."""
    local.drawn += 1
    return jax.random.fold_in(local.key, local.drawn)
