"""Objects as plain data and back: what a checkpoint holds of a sampler and of a register.

The key insight: a search must continue exactly, so all that its objects hold has to be kept, also
what a sampler of next year adds; but a file must never choose code. So fields are copied as they
are, of any record that Rondo's own modules define, and on the way back a record is made without
running anything: no constructor, no `__reduce__`, no module that was not loaded already.

    None, bool, int, float, str, bytes    themselves
    [tag, ...]                            everything else; the tags are below

Shared objects stay shared. `outside` names objects that are not copied but stand for themselves on
both sides, such as the corpus that a sampler refers to.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from random import Random
from typing import Any

from rondo._native.behaviour import BehaviourMap
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary

MODULES = (
    "rondo.search.",
    "rondo.campaign.",
    "rondo.oracle.result",
    "rondo.findings.bucket",
    "rondo.sequences.step",
)
"""Modules whose records may be kept."""

CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
MAPPINGS: dict[str, Callable[[Any], Any]] = {
    "dict": dict,
    "Counter": lambda items: Counter(dict(items)),
}

DAMAGE = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)
"""What reading data that nobody wrote may raise; the last, a state of `Random` below zero."""


class GraphError(ValueError):
    """Something that cannot be kept, or data that describes nothing of ours."""


def fields_of(value: object) -> dict[str, Any]:
    """Return the fields of a record, whether it has slots or not."""
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    found = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return {**found, **getattr(value, "__dict__", {})}


class Writer:
    """Turns objects into plain data."""

    def __init__(self, outside: Mapping[str, object]) -> None:
        self._outside = {id(value): name for name, value in outside.items()}
        self._seen: dict[int, int] = {}
        self._alive: list[object] = []

    def write(self, value: Any) -> Any:
        """Return `value` as plain data. Raises GraphError on what cannot be kept."""
        if value is None or isinstance(value, (bool, int, float, str, bytes)):
            return value
        if id(value) in self._outside:
            return ["outside", self._outside[id(value)]]
        if isinstance(value, Sequence):
            return ["sequence", encode(value)]
        if isinstance(value, BehaviourMap):
            return ["map", value.to_bytes()]
        if isinstance(value, Random):
            version, state, gauss = value.getstate()
            return ["random", version, list(state), gauss]
        kind = type(value).__name__
        if kind in CONTAINERS and type(value).__module__ in ("builtins", "collections"):
            return [kind, *map(self.write, value)]
        if kind in MAPPINGS and type(value).__module__ in ("builtins", "collections"):
            return [kind, *(self.write(each) for pair in value.items() for each in pair)]
        return self._record(value)

    def _record(self, value: Any) -> Any:
        kind = type(value)
        if not kind.__module__.startswith(MODULES):
            raise GraphError(f"a {kind.__module__}.{kind.__qualname__} cannot be kept")
        if isinstance(value, Enum):
            return ["enum", kind.__module__, kind.__qualname__, value.name]
        if id(value) in self._seen:
            return ["again", self._seen[id(value)]]
        number = self._seen[id(value)] = len(self._seen)
        self._alive.append(value)  # so that no other object gets its id meanwhile
        named = [
            each for item in fields_of(value).items() for each in (item[0], self.write(item[1]))
        ]
        return ["record", number, kind.__module__, kind.__qualname__, *named]


class Reader:
    """Turns plain data back into objects. Raises GraphError on anything odd."""

    def __init__(self, outside: Mapping[str, object], vocabulary: Vocabulary) -> None:
        self._outside = outside
        self._vocabulary = vocabulary
        self._made: dict[int, object] = {}

    def read(self, data: Any) -> Any:
        """Return the object that `data` describes."""
        if not isinstance(data, list):
            return data
        try:
            tag, *rest = data
            return self._read(tag, rest)
        except GraphError:
            raise
        except DAMAGE as error:
            raise GraphError(f"damaged: {error}") from None

    def _read(self, tag: str, rest: list[Any]) -> Any:
        if tag in CONTAINERS:
            return CONTAINERS[tag]([self.read(each) for each in rest])
        if tag in MAPPINGS:
            read = [self.read(each) for each in rest]
            return MAPPINGS[tag](list(zip(read[::2], read[1::2], strict=True)))
        if tag == "sequence":
            return decode(rest[0], self._vocabulary)
        if tag == "map":
            return BehaviourMap.from_bytes(rest[0])
        if tag == "random":
            source = Random()
            source.setstate((rest[0], tuple(rest[1]), rest[2]))
            return source
        if tag == "outside":
            return self._outside[rest[0]]
        if tag == "again":
            return self._made[rest[0]]
        if tag == "enum":
            return _known_class(rest[0], rest[1])[rest[2]]
        if tag == "record":
            return self._record(*rest)
        raise GraphError(f"damaged: nothing is called {tag!r}")

    def _record(self, number: int, module: str, name: str, *named: Any) -> Any:
        kind = _known_class(module, name)
        if missing := _declared(kind) - set(named[::2]):
            raise GraphError(f"of another version of Rondo: a {name} has no {min(missing)}")
        made = object.__new__(kind)
        self._made[number] = made
        for field, value in zip(named[::2], named[1::2], strict=True):
            object.__setattr__(made, field, self.read(value))
        return made


def _declared(kind: type) -> set[str]:
    """Return the fields that every record of a class has."""
    slots = {name for each in kind.__mro__ for name in getattr(each, "__slots__", ())}
    return slots | ({each.name for each in fields(kind)} if is_dataclass(kind) else set())


def _known_class(module: str, name: str) -> Any:
    """Return a class of ours. It must be loaded already: a file imports nothing."""
    found = getattr(sys.modules.get(module), name, None)
    if not (module.startswith(MODULES) and isinstance(found, type) and found.__module__ == module):
        raise GraphError(f"damaged: no record is called {module}.{name}")
    return found
