"""Cutting a definition down to what one script runs: known operands, no annotations, no docstrings.

The key insight: a change is a small function of an object and an operand. With the operand known,
`(20.0, -4.0)[value]` is a number and `if value == 0` is one of its branches, so that what is left
is the line which a person would have written.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable, Mapping
from typing import Any

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}
KEPT_ANNOTATIONS = ("dataclass", "NamedTuple")
"""Classes whose annotations are code: they declare fields."""


def _truth(node: ast.expr) -> bool | None:
    """Return the truth of a constant, None for anything else."""
    return bool(node.value) if isinstance(node, ast.Constant) else None


class _Fold(ast.NodeTransformer):
    """Puts expressions in place of names, and works out what is constant then."""

    def __init__(self, bindings: Mapping[str, ast.expr]) -> None:
        self.bindings = dict(bindings)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.bindings:
            return copy.deepcopy(self.bindings[node.id])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        folded = self._scope(node)
        assert isinstance(folded, ast.FunctionDef)
        folded.body = _reached(folded.body)
        return folded

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._scope(node)

    def _scope(self, node: ast.FunctionDef | ast.Lambda) -> ast.AST:
        """Fold a nested function, whose own parameters hide names from outside."""
        parameters = {argument.arg for argument in _parameters(node.args)}
        outer = self.bindings
        self.bindings = {name: to for name, to in outer.items() if name not in parameters}
        folded = self.generic_visit(node)
        self.bindings = outer
        return folded

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        index = node.slice
        if (
            isinstance(node.ctx, ast.Load)
            and isinstance(node.value, (ast.Tuple, ast.List))
            and isinstance(index, ast.Constant)
            and isinstance(index.value, int)
            and not any(isinstance(item, ast.Starred) for item in node.value.elts)
        ):
            return node.value.elts[index.value]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        left, right, compare = node.left, node.comparators[0], COMPARISONS.get(type(node.ops[0]))
        if compare and isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            return ast.Constant(compare(left.value, right.value))
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        decisive = isinstance(node.op, ast.Or)
        kept: list[ast.expr] = []
        for value in node.values:
            truth = _truth(value)
            if truth is decisive:
                return ast.Constant(decisive) if not kept else node
            if truth is None:
                kept.append(value)
        if not kept:
            return ast.Constant(not decisive)
        return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "bool" and len(node.args) == 1:
            truth = _truth(node.args[0])
            return node if truth is None else ast.Constant(truth)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and _truth(node.operand) is not None:
            return ast.Constant(not _truth(node.operand))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        work = ARITHMETIC.get(type(node.op))
        if (
            work
            and isinstance(node.left, ast.Constant)
            and isinstance(node.right, ast.Constant)
            and isinstance(node.left.value, int)
            and isinstance(node.right.value, int)
        ):
            return ast.Constant(work(node.left.value, node.right.value))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        truth = self._decided(node)
        if truth is None:
            return self.generic_visit(node)
        chosen: ast.AST = self.visit(node.body if truth else node.orelse)
        return chosen

    def visit_If(self, node: ast.If) -> Any:
        truth = self._decided(node)
        if truth is None:
            return self.generic_visit(node)
        # Only the branch that is taken: the other one may not even make sense for this operand.
        return [
            each for line in (node.body if truth else node.orelse) for each in self._block(line)
        ]

    def _block(self, line: ast.stmt) -> list[ast.stmt]:
        folded = self.visit(line)
        return folded if isinstance(folded, list) else [folded]

    def _decided(self, node: ast.If | ast.IfExp) -> bool | None:
        """Fold the test of a branch, and return its truth if it is a constant."""
        node.test = self.visit(node.test)
        return _truth(node.test)


def _reached(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return a body without what follows its `return`: a branch that is always taken had it.

    All of it where that holds a `yield`, which makes a generator even if it is never reached.
    """
    for number, line in enumerate(body):
        rest = body[number + 1 :]
        if isinstance(line, ast.Return | ast.Raise) and not any(
            isinstance(node, ast.Yield | ast.YieldFrom) for each in rest for node in ast.walk(each)
        ):
            return body[: number + 1]
    return body


class _Strip(ast.NodeTransformer):
    """Takes annotations, docstrings and asserts away, except where an annotation declares."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        marks = [ast.unparse(each) for each in (*node.decorator_list, *node.bases)]
        declares = any(word in mark for mark in marks for word in KEPT_ANNOTATIONS)
        kept = [item for item in node.body if isinstance(item, ast.AnnAssign)] if declares else []
        node.body = [
            item if item in kept else self.visit(item) for item in _without_docstring(node.body)
        ]
        node.body = [item for item in node.body if item is not None] or [ast.Pass()]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for argument in _parameters(node.args):
            argument.annotation = None
        node.body = _without_docstring(node.body)
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        return ast.Assign([node.target], node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        return None


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    extra = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    is_doc = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return body[1:] if is_doc else body


def strip(node: ast.stmt) -> ast.stmt:
    """Return a copy of a definition without annotations, docstrings and asserts."""
    stripped: ast.stmt = _Strip().visit(copy.deepcopy(node))
    return ast.fix_missing_locations(stripped)


def fold(node: ast.stmt, bindings: Mapping[str, ast.expr]) -> ast.stmt:
    """Return a copy of `node` with names bound and constants worked out."""
    folded: ast.stmt = _Fold(bindings).visit(copy.deepcopy(node))
    return ast.fix_missing_locations(folded)


def without_parameter(node: ast.ClassDef, name: str, value: ast.expr) -> ast.ClassDef:
    """Return the class with the parameter `name` of its constructor fixed to `value`."""
    fixed = copy.deepcopy(node)
    for index, item in enumerate(fixed.body):
        if not (isinstance(item, ast.FunctionDef) and item.name == "__init__"):
            continue
        if name in {argument.arg for argument in item.args.args}:
            item.args.args = [argument for argument in item.args.args if argument.arg != name]
            bound = fold(ast.Module(item.body, []), {name: value})  # type: ignore[arg-type]
            item.body = bound.body  # type: ignore[attr-defined]
            if [ast.unparse(line) for line in item.body] == ["super().__init__()"]:
                del fixed.body[index]
        break
    return ast.fix_missing_locations(fixed)


def specialise(
    function: ast.FunctionDef, owner: ast.expr, value: int
) -> tuple[list[ast.stmt], set[str]]:
    """Return the body of a change for one owner and operand, and the names that it assigns.

    Locals that hold a constant are replaced by it. What is left may be written in place of a call
    only if `may_inline` says so.
    """
    own, operand = (argument.arg for argument in function.args.args)
    stripped = strip(function)
    assert isinstance(stripped, ast.FunctionDef)
    block = ast.Module(stripped.body, [])
    bindings: dict[str, ast.expr] = {own: owner, operand: ast.Constant(value)}
    while bindings:
        block = fold(block, bindings)  # type: ignore[arg-type, assignment]
        bindings = _constants(block)
        block.body = [line for line in block.body if not _assigns_one_of(line, bindings)]
    declared = {
        name for node in ast.walk(block) if isinstance(node, ast.Global) for name in node.names
    }
    return block.body, assigned_names(block.body) - declared


def _constants(block: ast.Module) -> dict[str, ast.expr]:
    """Return locals of a block that are assigned once, at its top, to a constant or a place.

    A place is a chain of attributes that nothing in the block assigns: another name for it says no
    more than it does.
    """
    counts: dict[str, int] = {}
    declared: set[str] = set()
    for node in ast.walk(block):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            counts[node.id] = counts.get(node.id, 0) + 1
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            declared.update(node.names)
    found: dict[str, ast.expr] = {}
    for line in block.body:
        if isinstance(line, ast.Assign) and len(line.targets) == 1:
            target = line.targets[0]
            if (
                isinstance(target, ast.Name)
                and counts[target.id] == 1
                and target.id not in declared
                and (_is_constant(line.value) or _is_steady(line.value, block))
            ):
                found[target.id] = line.value
    return found


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def _is_steady(node: ast.expr, block: ast.Module) -> bool:
    """Whether `node` is a chain of attributes, no part of which the block assigns."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not (isinstance(node, ast.Attribute) and isinstance(root, ast.Name)):
        return False
    chain = ast.unparse(node)
    stores = [
        ast.unparse(each)
        for each in ast.walk(block)
        if isinstance(each, (ast.Attribute, ast.Name)) and not isinstance(each.ctx, ast.Load)
    ]
    calls = any(isinstance(each, ast.Call) for each in ast.walk(block))
    return not calls and not any(
        chain == store or chain.startswith(f"{store}.") for store in stores
    )


def _assigns_one_of(line: ast.stmt, names: Mapping[str, object]) -> bool:
    return (
        isinstance(line, ast.Assign)
        and isinstance(line.targets[0], ast.Name)
        and line.targets[0].id in names
    )


def assigned_names(body: list[ast.stmt]) -> set[str]:
    """Return the plain names that a block assigns outside of nested scopes."""
    names: set[str] = set()
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        pending += ast.iter_child_nodes(node)
    return names


def may_inline(body: list[ast.stmt], locals_: set[str], taken: set[str], longest: int) -> bool:
    """Whether a block means the same when it stands in place of a call.

    Not if it returns, if it is long, or if it makes functions over its own locals: these would
    share one variable with everything around them.
    """
    nodes = [node for line in body for node in ast.walk(line)]
    if len(body) > longest or any(isinstance(node, (ast.Return, ast.Nonlocal)) for node in nodes):
        return False
    if locals_ & taken:
        return False
    scopes = [node for node in nodes if isinstance(node, (ast.Lambda, ast.FunctionDef))]
    captured = {
        name.id for scope in scopes for name in ast.walk(scope) if isinstance(name, ast.Name)
    }
    return not captured & locals_
