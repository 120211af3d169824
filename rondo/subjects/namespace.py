"""Putting Python namespaces back: what a module's changes rebound is undone after every arm.

The key insight: a construct's file is the whole reach of its changes, so a shallow picture of that
file - its globals, the dictionaries of its classes, the defaults and code of its functions -
is enough to undo them, and no construct has to write its own undo.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

FUNCTION_FIELDS = ("__defaults__", "__kwdefaults__", "__code__")
_ABSENT = object()


class NamespaceSnapshot:
    """A shallow picture of some modules, taken at construction, put back by `restore`."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._globals: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._classes: list[tuple[type, dict[str, Any]]] = []
        self._functions: list[tuple[FunctionType, dict[str, Any]]] = []
        for module in modules:
            self._picture(module)

    def _picture(self, module: ModuleType) -> None:
        namespace = vars(module)
        self._globals.append((namespace, dict(namespace)))
        for name, value in namespace.items():
            if name.startswith("__"):
                continue  # __builtins__ above all: it is everybody's
            if isinstance(value, (list, dict, set)):
                self._containers.append((value, value.copy()))
            elif isinstance(value, type) and value.__module__ == module.__name__:
                self._picture_class(value)
            elif isinstance(value, FunctionType) and value.__module__ == module.__name__:
                self._picture_function(value)

    def _picture_class(self, cls: type) -> None:
        self._classes.append((cls, dict(vars(cls))))
        for value in vars(cls).values():
            function = getattr(value, "__func__", value)
            if isinstance(function, property):
                function = function.fget
            if isinstance(function, FunctionType):
                self._picture_function(function)
            elif isinstance(value, (list, dict, set)):
                self._containers.append((value, value.copy()))

    def _picture_function(self, function: FunctionType) -> None:
        fields = {name: getattr(function, name) for name in FUNCTION_FIELDS}
        if fields["__kwdefaults__"] is not None:
            fields["__kwdefaults__"] = dict(fields["__kwdefaults__"])
        self._functions.append((function, fields))

    def restore(self) -> None:
        """Put every name, class attribute, container and function field back. Idempotent."""
        for namespace, before in self._globals:
            for name in [name for name in namespace if name not in before]:
                # Compilers install names of this form for their own use and remove them themselves.
                if not name.startswith("__"):
                    del namespace[name]
            for name, value in before.items():
                if namespace.get(name, _ABSENT) is not value:
                    namespace[name] = value
        for container, copy in self._containers:
            _restore_container(container, copy)
        for cls, attributes in self._classes:
            _restore_class(cls, attributes)
        for function, fields in self._functions:
            for name, value in fields.items():
                if getattr(function, name) != value:
                    setattr(function, name, value)


def _is_unchanged(container: Any, copy: Any) -> bool:
    """Whether a container still holds the very same objects in the same order."""
    if isinstance(container, set):
        return bool(container == copy)
    if isinstance(container, dict):
        return list(map(id, container)) == list(map(id, copy)) and list(
            map(id, container.values())
        ) == list(map(id, copy.values()))
    return list(map(id, container)) == list(map(id, copy))


def _restore_container(container: Any, copy: Any) -> None:
    if _is_unchanged(container, copy):
        return
    if isinstance(container, list):
        container[:] = copy
    else:
        container.clear()
        container.update(copy)


def _restore_class(cls: type, attributes: dict[str, Any]) -> None:
    skipped = {"__dict__", "__weakref__", "__doc__", "__module__"}
    current = dict(vars(cls))
    for name in current:
        if name not in attributes and name not in skipped:
            delattr(cls, name)
    for name, value in attributes.items():
        if name not in skipped and current.get(name, _ABSENT) is not value:
            setattr(cls, name, value)
