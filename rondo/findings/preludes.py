"""A preload as part of a script: the user's own file, in front of the finding's own lines.

The key insight: a script of a finding under `--preload` is of use only with what the preload did,
so the file is written into it as it stands. Two things of it cannot be kept:

* `__name__` is another one in a script; what an `if` decides by it is decided as it was;
* Rondo is not to be had there. Definitions that need it - a declaration for a bench, a helper for
  types - are left out where nothing else uses them. A line that runs as the file is loaded and
  needs Rondo cannot be left out without changing what the preload does, so it is refused by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from rondo.errors import PreloadError

OWN = "rondo"
MODULE_NAME = "rondo_preload_{}"
"""What the n-th preload is called in `sys.modules` while a campaign runs."""


def prelude_of(path: str, number: int) -> str:
    """Return the text that stands for the preload at `path`. Raises PreloadError."""
    try:
        text = Path(path).read_text()
        tree = ast.parse(text)
    except OSError as error:
        raise PreloadError(f"--preload {path}: {error.strerror or error}") from None
    except (SyntaxError, ValueError) as error:
        raise PreloadError(f"--preload {path} cannot be read as Python: {error}") from None
    decided = [line for node in tree.body for line in _decided(node, MODULE_NAME.format(number))]
    own = {name for node in decided for name in _binds(node) if _imports_rondo(node)}
    if not own and decided == tree.body:
        # As the user wrote it, comments and all.
        kept = [line for line in text.splitlines() if not line.startswith("from __future__ ")]
        return "\n".join(kept).strip()
    body = list(_without([node for node in decided if not _is_text(node)], own, path))
    return "\n\n".join(ast.unparse(node) for node in (_used(body) if own else body)).strip()


def _decided(node: ast.stmt, name: str) -> list[ast.stmt]:
    """Return the branch of an `if` that asks for nothing but the module's name; else the line."""
    if not isinstance(node, ast.If):
        return [node]
    asked = {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)}
    if asked != {"__name__"}:
        return [node]
    test = ast.fix_missing_locations(ast.Expression(node.test))
    try:
        # Over one text and no builtins: what the preload itself evaluated when it was loaded.
        holds = eval(compile(test, "", "eval"), {"__builtins__": {}, "__name__": name})
    except Exception:
        return [node]
    chosen = node.body if holds else node.orelse
    return [line for each in chosen for line in _decided(each, name)]


def _without(body: list[ast.stmt], own: set[str], path: str) -> Iterator[ast.stmt]:
    """Yield the lines without those that need Rondo. Raises PreloadError where one must run."""
    body = [node for node in body if not _imports_rondo(node) and not _is_future(node)]
    lost = {OWN, *own}
    while True:
        for node in body:
            if _is_definition(node) and not lost.issuperset(_binds(node)) and _uses(node) & lost:
                lost |= set(_binds(node))
                break
        else:
            break
    for node in body:
        if _is_definition(node) and lost.issuperset(_binds(node)):
            continue
        needed = _uses(node) & lost
        if needed:
            raise PreloadError(
                f"--preload {path}, line {node.lineno} needs {sorted(needed)[0]!r}, which is"
                " Rondo's, and a script is to stand without Rondo; move what the bug needs to a"
                " preload that does not import it"
            )
        yield node


def _used(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the lines without imported names and constants that nothing reads any more."""
    read = set().union(*(_uses(node) for node in body)) if body else set()
    kept = []
    for node in body:
        if isinstance(node, ast.ImportFrom):
            node.names = [each for each in node.names if (each.asname or each.name) in read]
            if not node.names:
                continue
        if isinstance(node, ast.Assign) and not read & set(_binds(node)):
            try:
                ast.literal_eval(node.value)
            except ValueError:
                pass
            else:
                continue
        kept.append(node)
    return kept


def _is_definition(node: ast.stmt) -> bool:
    """Whether a statement only binds names: a function or class that no decorator takes."""
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not (
        node.decorator_list
    )


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imports_rondo(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] == OWN for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == OWN


def _binds(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [each.id for t in targets for each in ast.walk(t) if isinstance(each, ast.Name)]
    return []


def _uses(node: ast.AST) -> set[str]:
    """Return the names that a statement reads; a function's own imports of Rondo count as one."""
    names = {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }
    inner = [each for each in ast.walk(node) if isinstance(each, ast.stmt)]
    return names | {OWN for each in inner if _imports_rondo(each)}
