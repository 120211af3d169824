"""Tidying changes how a script reads and nothing of what it does."""

from __future__ import annotations

import ast

import pytest

from rondo.frameworks.shared.script_source import Slice, import_lines
from rondo.frameworks.shared.script_tidy import tidy
from rondo.frameworks.torch.script_inputs import InputWriter
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import Dimension, InputSpec


@pytest.mark.parametrize(
    ("unparsed", "written"),
    [
        (
            "class A:\n\n    def f(self):\n        pass\n",
            "class A:\n    def f(self):\n        pass\n",
        ),
        ("def f():\n\n    def g():\n        pass\n", "def f():\n    def g():\n        pass\n"),
        ("x = {'a': 'b'}\n", 'x = {"a": "b"}\n'),
        ("x = 'say \"a\"'\n", "x = 'say \"a\"'\n"),
        ("x = 'a\\n'\n", "x = 'a\\n'\n"),
        ("x = f'{y}'\n", "x = f'{y}'\n"),
        ("x = ['a', 'b'] + ['c']\n", 'x = ["a", "b"] + ["c"]\n'),
        ("def f():\n    return (a, b)\n", "def f():\n    return a, b\n"),
        ("x, y = (1, 2)\n", "x, y = 1, 2\n"),
        ("a.x, a.y = (b, c)\n", "a.x, a.y = b, c\n"),
        ("x = (a + b) * (c + d)\n", "x = (a + b) * (c + d)\n"),
        ("x = (a, b), (c, d)\n", "x = (a, b), (c, d)\n"),
        ("x = (a, b)[0], (c)\n", "x = (a, b)[0], (c)\n"),
        ("x = (a for a in b)\n", "x = (a for a in b)\n"),
        ("x = (a,)\n", "x = (a,)\n"),
        ("x = ()\n", "x = ()\n"),
        ("x = (y)\n", "x = (y)\n"),
        ("f('rondo::widen')\n", 'f("repro::widen")\n'),
        ("torch.ops.rondo.widen(x)\n", "torch.ops.repro.widen(x)\n"),
    ],
)
def test_a_person_would_write_it_so(unparsed: str, written: str) -> None:
    assert tidy(unparsed) == written
    meant = unparsed.replace("rondo", "repro")
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(meant))


def test_the_standard_library_comes_first() -> None:
    imports = {"np": ("numpy", ""), "sys": ("sys", ""), "torch": ("torch", "")}
    assert import_lines(imports) == ["import sys", "import numpy as np", "import torch"]


@pytest.mark.parametrize(
    ("construct", "found"),
    [("random_object", []), ("python_random", ["random"]), ("numpy_random", ["np.random"])],
)
def test_a_generator_of_its_own_needs_no_global_seed(construct: str, found: list[str]) -> None:
    pieces = Slice()
    pieces.need(f"rondo.frameworks.torch.constructs.{construct}", ["CONSTRUCT"])
    assert pieces.generators() == found


def test_global_generators_are_found_by_their_use() -> None:
    pieces = Slice()
    pieces.imports |= {"random": ("random", ""), "np": ("numpy", "")}
    pieces.need_names_of("random", ast.parse("random.Random(3)\nnp.float32(1)").body)
    assert pieces.generators() == []
    pieces.need_names_of("random", ast.parse("random.gauss(0, 1)").body)
    assert pieces.generators() == ["random"]
    pieces.need_names_of("random", ast.parse("np.random.rand()").body)
    assert pieces.generators() == ["random", "np.random"]


def test_a_second_input_of_a_name_that_ends_in_a_digit_reads_as_one() -> None:
    specs = [InputSpec("input0", ("batch",))]
    writer = InputWriter(specs, [Dimension("batch", (2, 4))], seed=0, exact=False, taken=set())
    for size in (0, 1):
        writer.write(Call(sizes=(size,)))
    assert set(writer._variables.values()) == {"input0", "input0_2"}
