"""Taking out of Rondo's own files what one subject needs, as definitions of a single file.

The key insight: a construct is a file of plain Python, so a definition and all that it refers to
can be followed by name - through imports between our files, and no further - and written down
again in the order in which they stood. Nothing of it is run.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

from rondo.frameworks.shared.script_fold import strip
from rondo.subjects.target import Architecture, Construct

OWN = "rondo"
"""The package whose imports are followed instead of written; a user's own package is one too."""


OWN_GENERATORS = {"Random", "SystemRandom"}
"""What of `random` has a state of its own."""


@dataclass
class Source:
    """The definitions and imports of one file, by the names that they bind."""

    module: str
    definitions: dict[str, ast.stmt] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name -> (module, attribute); the attribute is empty for `import module`."""


@cache
def source_of(module: str) -> Source:
    """Return the parsed file of an importable module."""
    found = importlib.import_module(module)
    tree = ast.parse(inspect.getsource(found))
    source = Source(module)
    # Where a relative import starts: the package itself, in its own `__init__`.
    package = module if hasattr(found, "__path__") else module.rpartition(".")[0]
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                source.imports[alias.asname or alias.name] = (alias.name, "")
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                origin = importlib.util.resolve_name("." * node.level + origin, package)
            for alias in node.names:
                source.imports[alias.asname or alias.name] = (origin, alias.name)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            source.definitions[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        source.definitions[name.id] = node
    return source


def names_in(node: ast.AST) -> set[str]:
    """Return every name that a definition refers to, those of kept annotations included."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    for each in ast.walk(node):
        if isinstance(each, (ast.Global, ast.Nonlocal)):
            names.update(each.names)
    return names


class Slice:
    """Definitions of several files that end up in one; names that clash are told apart."""

    def __init__(self) -> None:
        self.imports: dict[str, tuple[str, str]] = {}
        self._found: list[tuple[Source, ast.stmt]] = []
        self._bodies: list[ast.AST] = []
        self._seen: set[int] = set()
        self._order: list[str] = []

    def need(self, module: str | ModuleType, names: Iterable[str]) -> None:
        """Take in the definitions of `names` in `module`, and what these refer to."""
        source = source_of(module if isinstance(module, str) else module.__name__)
        for name in names:
            self._need(source, name)
        if source.module not in self._order:
            self._order.append(source.module)

    def _need(self, source: Source, name: str) -> None:
        definition = source.definitions.get(name)
        if definition is not None:
            if id(definition) in self._seen:
                return
            self._seen.add(id(definition))
            for other in sorted(names_in(strip(definition))):
                self._need(source, other)
            self._found.append((source, definition))
        elif name in source.imports:
            module, attribute = source.imports[name]
            home = source.module.partition(".")[0]
            if attribute and module.partition(".")[0] in (OWN, home):
                self.need(module, [attribute])
            else:
                self.imports[name] = (module, attribute)

    def need_names_of(self, module: str | ModuleType, nodes: Iterable[ast.AST]) -> None:
        """Take in all that already cut down code of `module` refers to."""
        bodies = list(nodes)
        self._bodies += bodies
        names = {name for node in bodies for name in names_in(node)}
        self.need(module, sorted(names))

    def definitions(self) -> list[tuple[str, ast.stmt]]:
        """Return (module, definition) in the order in which they must stand."""
        places = {module: number for number, module in enumerate(self._order)}
        ordered = sorted(
            self._found, key=lambda pair: (places.get(pair[0].module, 0), pair[1].lineno)
        )
        return [(source.module, node) for source, node in ordered]

    def generators(self) -> list[str]:
        """Return Python's and numpy's global generators, as they are called, where one is used."""
        used = {
            (each.value.id, each.attr)
            for node in [*(definition for _, definition in self._found), *self._bodies]
            for each in ast.walk(node)
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)
        }
        found = []
        for name, origin in self.imports.items():
            drawn = {attribute for owner, attribute in used if owner == name}
            if origin == ("random", "") and drawn - OWN_GENERATORS:
                found.append(name)
            elif origin == ("numpy", "") and "random" in drawn:
                found.append(f"{name}.random")
        return found

    def bound(self) -> set[str]:
        """Return the names that the slice binds."""
        return {name for _, node in self._found for name in bound_names(node)} | set(self.imports)

    def clashes(self) -> dict[str, dict[str, str]]:
        """Return new names for definitions of one name in several files: module -> old -> new."""
        owners: dict[str, str] = {}
        renamed: dict[str, dict[str, str]] = {}
        taken = self.bound()
        for module, node in self.definitions():
            for name in bound_names(node):
                if owners.setdefault(name, module) == module and name not in self.imports:
                    continue
                other = unused(f"{name}_", taken)
                taken.add(other)
                renamed.setdefault(module, {})[name] = other
        return renamed


def bound_names(node: ast.stmt) -> list[str]:
    """Return the names that a definition binds."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [
        name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
    ]


def defined_in(texts: Iterable[str]) -> set[str]:
    """Return the names that whole files of source define, imports left out."""
    return {name for text in texts for node in ast.parse(text).body for name in bound_names(node)}


def unused(name: str, taken: Iterable[str]) -> str:
    """Return `name`, with a number behind it where it is taken."""
    forbidden = set(taken) | set(dir(builtins))
    candidate, number = name, 2
    while candidate in forbidden:
        candidate, number = f"{name}{number}", number + 1
    return candidate


class Rename(ast.NodeTransformer):
    """Renames file-level names in one definition; methods keep theirs."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Rename what this node itself says, then what is in it."""
        if isinstance(node, ast.Name):
            node.id = self.names.get(node.id, node.id)
        elif isinstance(node, ast.Global):
            node.names = [self.names.get(name, name) for name in node.names]
        elif isinstance(node, ast.ClassDef):
            node.name = self.names.get(node.name, node.name)
        return super().generic_visit(node)


def rename(node: ast.stmt, names: Mapping[str, str]) -> ast.stmt:
    """Return the statement under new names."""
    if isinstance(node, ast.FunctionDef) and node.name in names:
        node.name = names[node.name]
    renamed: ast.stmt = Rename(dict(names)).visit(node)
    return renamed


def class_name(target: Architecture | Construct) -> str:
    """Return the name of the class that a target builds."""
    return str(target.build.__name__)


def import_lines(imports: dict[str, tuple[str, str]]) -> list[str]:
    """Return import statements, the standard library's first as they sort."""
    lines: dict[str, list[str]] = {}
    plain: list[str] = []
    for name, (module, attribute) in sorted(imports.items()):
        if not attribute:
            plain.append(f"import {module}" + ("" if name == module else f" as {name}"))
        else:
            lines.setdefault(module, []).append(
                attribute if name == attribute else f"{attribute} as {name}"
            )
    plain.sort(key=lambda line: (line.split()[1] not in sys.stdlib_module_names, line))
    return plain + [
        f"from {module} import {', '.join(names)}" for module, names in sorted(lines.items())
    ]
