"""A picture of all Python and tensor state that a subject's forward can read.

The key insight: a guard that is missing is seen by its absence only, so what has changed must be
found without asking the compiler. Everything that a construct's changes can touch lives on its
module, in its file or on the classes of that file; two pictures of these tell what changed.
"""

from __future__ import annotations

import abc
import enum
import itertools
import operator
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import combinations
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rondo.frameworks.torch.ambient import random_digests, read_ambient
from rondo.frameworks.torch.guards import Path

DEEPEST = 6
WIDEST = 32
PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, enum.Enum)
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
BORING = frozenset(
    [
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__annotations__",
        "__qualname__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__match_args__",
        "__abstractmethods__",
        "_abc_impl",
        "__parameters__",
        "__orig_bases__",
        "__firstlineno__",
        "__static_attributes__",
    ]
)
OF_MODULES = (
    "_forward_",
    "_backward_",
    "_state_dict",
    "_load_state_dict",
    "_non_persistent",
    "_is_",
)
"""Bookkeeping of nn.Module; hooks are looked at by their number."""

COMPILERS = frozenset(["_dynamo_static_input_type", "_dynamo_propagated_dynamic_indices"])
"""What compiling by itself notes on tensors: Dynamo on every parameter and buffer, AOTAutograd on
what it returns. A program that has not changed has these on it afterwards. The marks that a user
sets (`mark_dynamic` and its kin) have other names, and are looked at."""

STATE, VALUES, RNG, INPUT, AMBIENT = "state", "values", "random state", "input", "mode"


_dump_of: Callable[[type], tuple[Any, ...]] | None = getattr(abc, "_get_dump", None)
"""What CPython's own abc module prints an abstract class by: weak references to what was registered
with it, then its caches. An interpreter that has no such thing lets nobody see the former."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that may change: a key to compare, a text to show, and what kind of thing it is."""

    key: object
    text: str
    kind: str = STATE


Picture = dict[Path, Fact]


@dataclass
class Painter:
    """Takes pictures. What it has seen is kept alive, so that an id never comes to mean another."""

    files: Mapping[str, ModuleType]
    kept: list[object] = field(default_factory=list)

    def paint(self, parts: Mapping[str, nn.Module], inputs: Mapping[str, Any]) -> Picture:
        """Return what stands on the modules `parts`, in their files, and in a call's `inputs`."""
        picture: Picture = {}
        seen: set[int] = set()
        for name, module in parts.items():
            self._walk(picture, ("self", name), module, seen, 0)
        for name, file in self.files.items():
            for key, value in vars(file).items():
                if not key.startswith("__") and not self._is_imported(value, file):
                    self._walk(picture, ("file", name, key), value, set(), 0)
        picture |= input_facts(inputs)
        picture |= {("mode", n): Fact(t, t, AMBIENT) for n, t in read_ambient().items()}
        picture |= {
            ("random", n): Fact(t, "another state", RNG) for n, t in random_digests().items()
        }
        return picture

    def _is_imported(self, value: object, file: ModuleType) -> bool:
        """Whether a file's global is another file's thing: no change of this file touches it."""
        home = getattr(value, "__module__", None)
        if isinstance(value, ModuleType):
            return _is_installed(value)
        return isinstance(value, (type, FunctionType)) and home != file.__name__

    def _walk(self, into: Picture, path: Path, value: Any, seen: set[int], depth: int) -> None:
        self.kept.append(value)
        into[path] = fact = describe(value)
        if depth >= DEEPEST or isinstance(value, PLAIN) or id(value) in seen:
            return
        seen = seen | {id(value)}
        if isinstance(value, Tensor):
            into[(*path, "values")] = Fact(_digest(value), "other values", VALUES)
        for name, part in self._parts(value):
            if fact.kind != RNG:
                self._walk(into, (*path, name), part, seen, depth + 1)

    def _parts(self, value: Any) -> Iterable[tuple[str, Any]]:
        if isinstance(value, Mapping):
            return [(str(key), each) for key, each in list(value.items())[:WIDEST]]
        if isinstance(value, (list, tuple, deque)):
            return [(str(index), each) for index, each in enumerate(value)][:WIDEST]
        if isinstance(value, type):
            own = {name: each for name, each in vars(value).items() if name not in BORING}
            named = [(name, unwrapped(each)) for name, each in own.items()]
            if type(value).__module__ in self._homes:
                named.append(("__class__", type(value)))
            return [*named, *_registered(value)]
        if isinstance(value, FunctionType):
            cells = value.__closure__ or ()
            names = value.__code__.co_freevars
            closed = [(name, _content(cell)) for name, cell in zip(names, cells, strict=True)]
            return [*closed, *vars(value).items()]
        if isinstance(value, torch.optim.Optimizer):
            groups = [
                {name: each for name, each in group.items() if name != "params"}
                for group in value.param_groups
            ]
            return [("param_groups", groups)]
        if isinstance(value, nn.Module):
            return self._attributes(value)
        if isinstance(value, ModuleType):
            return [] if _is_installed(value) else list(vars(value).items())
        if isinstance(value, MethodType):
            return [("__self__", value.__self__)]
        if isinstance(value, partial):
            return [("func", value.func), ("args", value.args), ("keywords", value.keywords)]
        if isinstance(value, Tensor):
            own = getattr(value, "__dict__", {})
            return [(name, each) for name, each in own.items() if name not in COMPILERS]
        if type(value).__module__ in self._homes | {"torch.amp.autocast_mode"}:
            return list(_variables(value).items())
        return []

    @property
    def _homes(self) -> set[str]:
        """The modules whose classes are the subject's own."""
        return {file.__name__ for file in self.files.values()}

    def _attributes(self, module: nn.Module) -> list[tuple[str, Any]]:
        found = {
            name: value
            for name, value in vars(module).items()
            if not name.startswith(OF_MODULES)
            and name not in ("_parameters", "_buffers", "_modules")
        }
        hooks = {
            name: len(value)
            for name, value in vars(module).items()
            if name.endswith("_hooks") and name.startswith(("_forward", "_backward")) and value
        }
        parts: dict[str, Any] = {**module._parameters, **module._buffers, **module._modules}
        # An attribute of the instance hides a parameter or layer of its name.
        parts = {name: part for name, part in parts.items() if name not in found}
        gradients = {
            f"{name}.grad": parameter.grad is not None
            for name, parameter in module._parameters.items()
            if parameter is not None
        }
        return [*found.items(), *hooks.items(), *parts.items(), *gradients.items()]


def _registered(kind: type) -> list[tuple[str, Any]]:
    """Return the classes that were registered with an abstract one, which no attribute shows."""
    if not isinstance(kind, abc.ABCMeta) or _dump_of is None:
        return []
    registry, *_ = _dump_of(kind)
    classes = [each for each in (reference() for reference in registry) if each is not None]
    return [("registered", sorted(each.__qualname__ for each in classes))] if classes else []


def _is_installed(module: ModuleType) -> bool:
    """Whether a module is one that everybody imports, and no object that a construct has made."""
    return sys.modules.get(module.__name__) is module


def _variables(value: object) -> dict[str, Any]:
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return found | getattr(value, "__dict__", {})


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def unwrapped(value: Any) -> Any:
    """Return the function behind a descriptor of a class."""
    if isinstance(value, property):
        return value.fget
    return getattr(value, "__func__", value)


def describe(value: Any) -> Fact:
    """Return what one value is, without what it holds."""
    if isinstance(value, PLAIN):
        return Fact((type(value), repr(value)), repr(value))
    if isinstance(value, random.Random):
        return Fact(hash(value.getstate()), "another state", RNG)
    if isinstance(value, np.random.Generator):
        return Fact(repr(value.bit_generator.state), "another state", RNG)
    if isinstance(value, np.ndarray):
        content = blake2b(np.ascontiguousarray(value).tobytes(), digest_size=8).hexdigest()
        return Fact((id(value), str(value.dtype), value.shape, content), f"array {value.dtype}")
    if isinstance(value, torch.Generator):
        return Fact(_digest(value.get_state()), "another state", RNG)
    if isinstance(value, Tensor):
        return Fact(
            (id(value), *_metadata(value)), f"tensor {' '.join(map(str, _metadata(value)))}"
        )
    if isinstance(value, FunctionType):
        defaults = (repr(value.__defaults__), repr(value.__kwdefaults__))
        return Fact((id(value), id(value.__code__), *defaults), f"function {value.__qualname__}")
    if isinstance(value, BuiltinFunctionType):
        return Fact((id(value), type(value)), f"builtin {value.__qualname__}")
    if isinstance(value, CONTAINERS):
        order: tuple[str, ...] = tuple(map(str, value)) if isinstance(value, dict) else ()
        if isinstance(value, (set, frozenset)):
            order = tuple(sorted(repr(each) for each in value if isinstance(each, PLAIN)))
        # Who a tuple is does not matter; a list that becomes another list does.
        who = 0 if isinstance(value, (tuple, frozenset)) else id(value)
        text = f"{type(value).__name__} of {len(value)}"
        return Fact((type(value), len(value), order, who), text)
    if isinstance(value, nn.Module):
        return Fact((id(value), type(value), tuple(value._modules)), f"{type(value).__name__}")
    if isinstance(value, ContextVar):
        return Fact((id(value), repr(value.get(None))), repr(value.get(None)))
    if isinstance(value, GeneratorType):
        frame = value.gi_frame
        at = (frame.f_lasti, repr(frame.f_locals)) if frame else ()
        return Fact((id(value), at), "generator")
    if isinstance(value, Iterator):
        counted = repr(value) if isinstance(value, itertools.count) else ""
        at = (operator.length_hint(value, -1), counted)
        return Fact((id(value), at), f"{type(value).__name__}")
    if isinstance(value, type):
        return Fact((id(value), tuple(map(id, value.__mro__))), f"class {value.__qualname__}")
    return Fact((id(value), type(value)), f"{type(value).__name__} object")


def _metadata(tensor: Tensor) -> tuple[object, ...]:
    wants = "requires_grad" if tensor.requires_grad else ""
    strides = tensor.stride() if tensor.layout == torch.strided else tensor.layout
    return (str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), strides, wants)


def _digest(tensor: Tensor) -> str:
    if tensor.layout != torch.strided or type(tensor) not in (Tensor, nn.Parameter):
        return ""
    plain = tensor.detach()
    wide = plain.to(torch.float64) if plain.is_floating_point() else plain.to(torch.int64)
    return blake2b(wide.numpy().tobytes(), digest_size=8).hexdigest()


def input_facts(inputs: Mapping[str, Any]) -> Picture:
    """Return what a call is given, and which of its arguments are or share one another."""
    picture: Picture = {}
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            for key, fact in zip(
                ("dtype", "size", "stride", "grad"), _metadata(value), strict=True
            ):
                picture["input", name, key] = Fact(fact, str(fact) or "no gradient", INPUT)
            picture["input", name, "values"] = Fact(_digest(value), "other values", VALUES)
        else:
            text = f"list of {len(value)}" if isinstance(value, list) else repr(value)
            picture["input", name] = Fact((type(value), text), text, INPUT)
    names = list(inputs)
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            relation = _relation(inputs[first], inputs[second])
            if relation is not None:
                picture["input", f"{first} and {second}"] = Fact(relation, relation, INPUT)
    return picture


def _relation(first: Any, second: Any) -> str | None:
    if isinstance(first, list) and isinstance(second, list):
        return "the same" if first is second else "different"
    if not (isinstance(first, Tensor) and isinstance(second, Tensor)):
        return None
    if first is second:
        return "the same"
    if _storage(first) != _storage(second):
        return "different"
    return f"one storage, {abs(_apart(first, second))} apart"


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _apart(first: Tensor, second: Tensor) -> int:
    return int(second.storage_offset()) - int(first.storage_offset())


def storages(parts: Mapping[str, nn.Module]) -> Picture:
    """Return which tensors of a module lie in one storage, and how far apart they begin.

    A compiled call that writes to one of them was traced with what it then overlapped.
    """
    picture: Picture = {}
    for part, module in parts.items():
        for prefix, owner in module.named_modules(prefix=part):
            held = {**owner._parameters, **owner._buffers, **vars(owner)}
            tensors = {
                name: each
                for name, each in held.items()
                if type(each) in (Tensor, nn.Parameter)
                and each.layout == torch.strided
                and each.numel()
            }
            for (name, first), (other, second) in combinations(list(tensors.items())[:WIDEST], 2):
                if first is second or _storage(first) != _storage(second):
                    continue
                both = ("storage of", f"{prefix}.{name} and {prefix}.{other}")
                apart = _apart(first, second)
                picture[both] = Fact("shared", "shared")
                picture[(*both, "offset")] = Fact(apart, f"{apart} apart")
    return picture


def identities(parts: Mapping[str, nn.Module]) -> Picture:
    """Return which parameters of the subject are one and the same object."""
    owners: dict[int, list[str]] = {}
    for part, module in parts.items():
        for name, parameter in module.named_parameters(remove_duplicate=False):
            owners.setdefault(id(parameter), []).append(f"{part}.{name}")
    return {
        ("tied", " and ".join(names)): Fact(True, "the same", STATE)
        for names in owners.values()
        if len(names) > 1
    }
