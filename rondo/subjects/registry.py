"""Discovery: every module of a package that declares a target under an agreed name.

The key insight: the folder is the register. A file that exists is found, a file that is deleted is
gone, and no list has to be kept in step. The first line of a file's docstring describes its target.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TypeVar

from rondo.subjects.target import Target

TargetType = TypeVar("TargetType", bound=Target)


def discover(
    package: str, attribute: str, kind: type[TargetType]
) -> dict[str, tuple[TargetType, ModuleType]]:
    """Import every module of `package` and return its targets by name with the module they live in.

    Modules whose name starts with an underscore are helpers and are left out. Raises TypeError when
    a module lacks `attribute` or holds something else there, ValueError when two share a name.
    """
    parent = importlib.import_module(package)
    found: dict[str, tuple[TargetType, ModuleType]] = {}
    for info in sorted(pkgutil.iter_modules(parent.__path__), key=lambda info: info.name):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package}.{info.name}")
        target = getattr(module, attribute, None)
        if not isinstance(target, kind):
            raise TypeError(f"{module.__name__} must declare {attribute} as a {kind.__name__}")
        if target.name in found:
            raise ValueError(f"two files of {package} declare the name {target.name!r}")
        if not target.doc:
            summary = (module.__doc__ or "").strip().split("\n")[0]
            target.doc = summary.partition(": ")[2] or summary
        found[target.name] = (target, module)
    return found
