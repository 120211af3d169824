"""Namespaces are put back: names, containers, classes, functions, and nothing beyond the file."""

from __future__ import annotations

import builtins
from types import ModuleType

import pytest

from rondo.subjects.namespace import NamespaceSnapshot

SOURCE = """
LEVEL = 1
TABLE = {"a": 1, "b": 2}
NAMES = ["x"]
MEMBERS = {1}

def helper(value, scale=2, *, shift=0):
    return value * scale + shift

class Owner:
    rate = 0.5
    table = [1]

    def method(self, scale=1):
        return scale

    @property
    def size(self):
        return 3

    @staticmethod
    def static(value=1):
        return value
"""


@pytest.fixture
def module() -> ModuleType:
    made = ModuleType("subject_under_test")
    exec(SOURCE, made.__dict__)
    for value in list(vars(made).values()):
        if getattr(value, "__module__", None) is not None:
            value.__module__ = "subject_under_test"
    return made


def picture(module: ModuleType) -> tuple[object, ...]:
    owner = module.Owner
    return (
        module.LEVEL,
        list(module.TABLE.items()),
        list(module.NAMES),
        set(module.MEMBERS),
        module.helper(1),
        dict(module.helper.__kwdefaults__),
        owner.rate,
        list(owner.table),
        owner().method(),
        owner().size,
        owner.static(),
        sorted(name for name in vars(module) if not name.startswith("__")),
    )


def test_everything_a_change_may_rebind_is_put_back(module: ModuleType) -> None:
    before = picture(module)
    identities = (id(module.TABLE), id(module.Owner.method), id(module.helper))
    snapshot = NamespaceSnapshot([module])
    module.LEVEL = 9
    module.abs = len
    module.TABLE["a"] = module.TABLE.pop("a") + 5
    module.NAMES.append("y")
    module.MEMBERS.clear()
    module.helper.__defaults__ = (7,)
    module.helper.__kwdefaults__["shift"] = 3
    module.helper.__code__ = (lambda value, scale=1, *, shift=1: 0).__code__
    owner = module.Owner
    owner.rate, owner.extra = 2.0, 1
    owner.table.append(2)
    owner.method.__defaults__ = (5,)
    owner.method = lambda self: 9
    owner.static.__defaults__ = (8,)
    owner.size = property(lambda self: 4)
    del module.NAMES
    assert picture_fails(module)
    snapshot.restore()
    assert picture(module) == before
    assert (id(module.TABLE), id(module.Owner.method), id(module.helper)) == identities
    snapshot.restore()
    assert picture(module) == before


def picture_fails(module: ModuleType) -> bool:
    return not hasattr(module, "NAMES")


def test_names_that_compilers_install_stay(module: ModuleType) -> None:
    snapshot = NamespaceSnapshot([module])
    vars(module)["__compiled_fn_1"] = len
    snapshot.restore()
    assert vars(module)["__compiled_fn_1"] is len


def test_builtins_are_not_touched(module: ModuleType) -> None:
    snapshot = NamespaceSnapshot([module])
    builtins.only_for_this_test = 1  # type: ignore[attr-defined]
    try:
        snapshot.restore()
        assert builtins.only_for_this_test == 1  # type: ignore[attr-defined]
    finally:
        del builtins.only_for_this_test  # type: ignore[attr-defined]
