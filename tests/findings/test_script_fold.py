"""What is left of a definition once its operands are known."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from rondo.frameworks.shared.script_fold import fold


def folded(source: str, **bindings: bool) -> str:
    (definition,) = ast.parse(source).body
    to = {name: ast.Constant(value) for name, value in bindings.items()}
    return ast.unparse(fold(definition, to))


BRANCHES = """
def run(x):
    if flag:
        return x + 1
    return x - 1
"""


def test_only_the_branch_that_is_taken_is_left() -> None:
    assert folded(BRANCHES, flag=True) == "def run(x):\n    return x + 1"
    assert folded(BRANCHES, flag=False) == "def run(x):\n    return x - 1"


@pytest.mark.parametrize("last", ["yield x", "x = yield", "yield from x"])
def test_a_generator_stays_one(last: str) -> None:
    source = f"def run(x):\n    if flag:\n        return\n    {last}"
    names: dict[str, Any] = {}
    exec(folded(source, flag=True), names)
    assert list(names["run"](3)) == []


def test_what_follows_an_undecided_branch_stays() -> None:
    source = "def run(x):\n    if x:\n        return 1\n    return 2"
    assert folded(source, flag=True) == source
