"""Trimming classes: attributes that nothing changes become the constants that they are.

A construct holds several things that its changes can touch, and a finding needs one of them. An
attribute that is set once, to a constant, and that no line of the script touches from outside is
written as that constant; branches that it decides fall away with it. Whether the bug needed the
attribute is found by running the script, as always.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterable

from rondo.frameworks.shared.script_fold import fold


class _Attributes(ast.NodeTransformer):
    """Puts constants in place of `self.NAME`."""

    def __init__(self, constants: dict[str, ast.expr]) -> None:
        self.constants = constants

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if (
            isinstance(node.value, ast.Name)
            and node.value.id == "self"
            and isinstance(node.ctx, ast.Load)
            and node.attr in self.constants
        ):
            return copy.deepcopy(self.constants[node.attr])
        return node


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Tuple):
        return all(_is_literal(item) for item in node.elts)
    return isinstance(node, ast.Constant)


def _constructor(node: ast.ClassDef) -> ast.FunctionDef | None:
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return item
    return None


def _sets(line: ast.stmt) -> str:
    """Return the attribute of `self` that a line sets, or an empty text."""
    if isinstance(line, ast.Assign) and len(line.targets) == 1:
        target = line.targets[0]
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
            return target.attr
    return ""


def trim(node: ast.ClassDef, outside: Iterable[ast.AST]) -> ast.ClassDef:
    """Return the class without attributes that are constants to all of the script.

    `outside` is every other piece of code in the script: an attribute that one of them names, as an
    attribute or as text, stays.
    """
    constructor = _constructor(node)
    if constructor is None:
        return node
    named: set[str] = set()
    for piece in outside:
        for each in ast.walk(piece):
            if isinstance(each, ast.Attribute):
                named.add(each.attr)
            elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                named.add(each.value)
    stores = Counter(
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and not isinstance(each.ctx, ast.Load)
    )
    texts = {
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }
    constants: dict[str, ast.expr] = {}
    for line in constructor.body:
        name = _sets(line)
        if name and stores[name] == 1 and name not in named | texts:
            assert isinstance(line, ast.Assign)
            if _is_literal(line.value):
                constants[name] = line.value
    if not constants:
        return node
    trimmed = copy.deepcopy(node)
    for item in list(trimmed.body):
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            item.body = [line for line in item.body if _sets(line) not in constants]
            if [ast.unparse(line) for line in item.body] in (["super().__init__()"], []):
                trimmed.body.remove(item)
    folded = fold(_Attributes(constants).visit(trimmed), {})
    assert isinstance(folded, ast.ClassDef)
    folded.body = folded.body or [ast.Pass()]
    return folded
