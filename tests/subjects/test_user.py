"""A user's own model: what is inferred, what is named, and what is refused in one line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rondo import subject
from rondo.errors import SubjectError
from rondo.sequences.vocabulary import Dimension, InputSpec
from rondo.subjects.user import load_subject


@dataclass
class FakeTensor:
    """What inference looks at: a shape, a dtype, a largest value."""

    shape: tuple[int, ...]
    dtype: str = "torch.float32"
    largest: int = 0

    def max(self) -> int:
        return self.largest

    def reshape(self, size: int) -> range:
        return range(int(np.prod(self.shape)))


def build() -> object:
    return lambda *inputs: inputs[0]


def test_the_first_axis_is_the_batch_where_sizes_agree() -> None:
    described = subject(build, FakeTensor((4, 16)), FakeTensor((4, 7), "torch.int64", 9), 0.5, 3)
    assert described.schema.inputs == (
        InputSpec("input0", ("batch", 16)),
        InputSpec("input1", ("batch", 7), "index", 10),
        InputSpec("input2", (), "number"),
        InputSpec("input3", (), "integer"),
    )
    assert described.schema.dimensions == (Dimension("batch", (4, 5, 1, 8)),)


def test_no_batch_is_guessed_where_sizes_differ() -> None:
    described = subject(build, FakeTensor((4, 16)), FakeTensor((3,), "torch.bool"))
    assert [each.shape for each in described.schema.inputs] == [(4, 16), (3,)]
    assert [each.name for each in described.schema.dimensions] == ["batch"]


def test_dimensions_can_be_named_and_given_sizes() -> None:
    shapes = [("batch", "length", 8)]
    described = subject(build, FakeTensor((2, 5, 8)), shapes=shapes, sizes={"length": (5, 1)})
    assert described.schema.dimensions == (
        Dimension("batch", (2, 3, 1, 4)),
        Dimension("length", (5, 1)),
    )


@pytest.mark.parametrize(
    ("examples", "shapes", "said"),
    [
        ((FakeTensor((2, 3)),), [("batch", 4)], "axis 1 of input0 is 3, its shape says 4"),
        ((FakeTensor((2, 3)),), [("batch",)], "has 2 axes, its shape names 1"),
        ((FakeTensor((2, 3)),), [], "0 shapes for 1 example inputs"),
        ((FakeTensor((2, 3)),), [("n", "n")], "dimension 'n' is 2 and 3"),
        (("text",), None, "input0 is a str"),
        ((True,), None, "input0 is a bool"),
        ((FakeTensor((2,), "torch.complex64"),), None, "torch.complex64 cannot be generated"),
    ],
)
def test_contradictions_are_refused(examples: tuple, shapes: object, said: str) -> None:
    with pytest.raises(SubjectError, match=said):
        subject(build, *examples, shapes=shapes)


def test_a_build_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(SubjectError, match="must be callable"):
        subject(3)  # type: ignore[arg-type]


class Model:
    """What a module looks like: called with inputs, built with sizes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, hidden: object) -> object:
        return hidden

    __call__ = forward


def test_a_model_instead_of_what_builds_one_is_refused() -> None:
    with pytest.raises(SubjectError, match="is a Model already; give what builds one anew"):
        subject(Model(3), FakeTensor((2, 3)))  # type: ignore[arg-type]
    with pytest.raises(SubjectError, match="called without arguments: missing a required"):
        subject(Model, FakeTensor((2, 3)))  # type: ignore[arg-type]
    assert subject(lambda: Model(3), FakeTensor((2, 3))).schema.inputs


MODULE = """
import rondo
LEVEL = 1
def model(x): return x * LEVEL
def factory(): return rondo.subject(lambda: model, 1.5)
described = factory()
def wrong(): return 3
def raising(): raise RuntimeError("no such weights")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine_for_rondo.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mine_for_rondo", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", ["factory", "described"])
def test_factories_and_descriptions_load_with_their_module(folder: Path, name: str) -> None:
    loaded = load_subject(f"mine_for_rondo:{name}")
    assert loaded.origin is not None
    assert loaded.origin.LEVEL == 1
    assert loaded.build()(2) == 2


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("mine_for_rondo", "not of the form"),
        (":factory", "not of the form"),
        ("mine_for_rondo:nothing", "AttributeError"),
        ("no_such_module_at_all:factory", "ModuleNotFoundError"),
        ("mine_for_rondo:wrong", "returned a int; it must return rondo.subject"),
        ("mine_for_rondo:raising", "raised RuntimeError: no such weights"),
    ],
)
def test_wrong_factories_are_told_in_one_line(folder: Path, path: str, said: str) -> None:
    with pytest.raises(SubjectError, match=said) as caught:
        load_subject(path)
    assert "\n" not in str(caught.value)
