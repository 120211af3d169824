"""The adapter's small pieces: auxiliary data, explanations of misses, the two stores, inputs."""

from __future__ import annotations

from typing import Any

import pytest

from rondo.frameworks.registry import is_installed

if not is_installed("jax"):
    pytest.skip("jax is not installed", allow_module_level=True)

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rondo.frameworks.jax.eager import OperationStore, eagerly
from rondo.frameworks.jax.inputs import hand_over
from rondo.frameworks.jax.layers import BatchNorm, Linear
from rondo.frameworks.jax.module import (
    Module,
    Static,
    building,
    load_state,
    modules,
    read_state,
    typed,
)
from rondo.frameworks.jax.store import ExecutableStore
from rondo.frameworks.jax.watch import explained
from rondo.sequences.step import CALL_CHOICES, Call

PLAIN = st.recursive(
    st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, -0.0, 1.0, 2.0])),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


def spelt(value: Any) -> str:
    """Return a text that tells types and signs apart."""
    return repr(value)


@given(PLAIN, PLAIN)
def test_auxiliary_data_is_equal_only_if_it_is_spelt_equal(first: Any, second: Any) -> None:
    equal = Static((("value", first),)) == Static((("value", second),))
    assert equal == (spelt(first) == spelt(second))
    if equal:
        assert hash(typed(first)) == hash(typed(second))


@pytest.mark.parametrize("change", [lambda held: held.append(1), lambda held: held.reverse()])
def test_a_list_changed_in_place_does_not_change_the_key_made_before(change: Any) -> None:
    held = [1, 2.0]
    before = Static((("held", held),))
    change(held)
    assert before != Static((("held", held),))
    hash(before)


class Pair(Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = BatchNorm(3)
        self.parts = [Linear(3, 3), None, "name"][:1]
        self.rate = 0.5


def test_a_module_goes_through_a_pytree_without_its_buffers() -> None:
    with building(0):
        pair = Pair()
    leaves, structure = jax.tree_util.tree_flatten(pair)
    again = jax.tree_util.tree_unflatten(structure, leaves)
    assert len(leaves) == 4
    assert again.rate == 0.5
    assert again.norm.buffers == {}
    load_state(again, read_state(pair))
    assert sorted(read_state(again)) == ["norm.mean", "norm.variance"]


def test_a_module_held_twice_is_one_module_with_two_paths() -> None:
    with building(0):
        pair = Pair()
    pair.other = pair.norm
    assert sorted(read_state(pair)) == [
        "norm.mean",
        "norm.variance",
        "other.mean",
        "other.variance",
    ]
    assert len(modules(pair)) == 3


MISS = """TRACING CACHE MISS at /tmp/x.py:3:1 (<module>):
  for subject defined at /tmp/y.py:12
  all previously seen cache keys differ. For the closest previous key:
  {}"""


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (
            "different input types:\n  * at x, now f32[4,8] and before f32[3,8]",
            "recompile subject: type of x: shape",
        ),
        (
            "different input types:\n  * at x, now bf16[4] and before f32[4,1]",
            "recompile subject: type of x: f32 to bf16 and rank",
        ),
        (
            "different input types:\n"
            "  * at n, now f32[]{weak_type=True} and before f32[]{weak_type=False}",
            "recompile subject: type of n: weak type",
        ),
        (
            "Tracing context doesn't match, e.g. due to config or context manager.\n"
            "  * jax_enable_x64 differs: now True and before False",
            "recompile subject: setting jax_enable_x64",
        ),
        (
            "different input pytree:\n  * at input path [0], now A and before B, so they differ",
            "recompile subject: pytree: they differ",
        ),
    ],
)
def test_a_miss_is_explained_without_its_values(text: str, label: str) -> None:
    assert explained(MISS.format(text)) == [label]


def test_a_function_never_seen_is_named_without_its_id() -> None:
    text = (
        "TRACING CACHE MISS at a.py:1:1:\n  never seen function:\n    gradients id=140227 defined"
    )
    assert explained(text) == ["new function gradients"]


def test_other_messages_are_no_labels() -> None:
    assert explained("Finished tracing") == []


class FakeModule:
    def __init__(self, text: str) -> None:
        self.operation = self
        self.text = text

    def get_asm(self) -> str:
        return self.text


class FakeOptions:
    def __init__(self, text: bytes = b"") -> None:
        self.text = text

    def SerializeAsString(self) -> bytes:
        return self.text


def test_equal_programs_are_compiled_once_and_others_are_not_confused() -> None:
    made: list[str] = []

    def compile_(backend: Any, module: FakeModule, *_: Any) -> str:
        made.append(module.text)
        return f"executable {len(made)}"

    store = ExecutableStore(compile_, largest=2)
    backend = object()
    first = store(backend, FakeModule("add"), [0], FakeOptions(), [])
    assert store(backend, FakeModule("add"), [0], FakeOptions(), []) == first
    assert store(backend, FakeModule("mul"), [0], FakeOptions(), []) != first
    assert store(backend, FakeModule("add"), [0], FakeOptions(b"O0"), []) != first
    assert made == ["add", "mul", "add"]
    store(backend, FakeModule("add"), [0], FakeOptions(), [])
    assert made == ["add", "mul", "add", "add"], "the oldest of three had to go"


def test_programs_that_call_back_are_always_compiled() -> None:
    made: list[str] = []

    def compile_(backend: Any, module: FakeModule, *_: Any) -> None:
        made.append(module.text)

    store = ExecutableStore(compile_)
    for _ in range(2):
        store(object(), FakeModule("custom_call @xla_python_callback"), [0], FakeOptions(), [])
        store(object(), FakeModule("add"), [0], FakeOptions(), [print])
    assert len(made) == 4


def test_the_operation_store_is_used_in_the_eager_arm_alone() -> None:
    from jax._src import dispatch

    with eagerly():
        jnp.add(jnp.asarray([1.0, 2.0]), 1.0)
    store = dispatch.xla_primitive_callable
    assert isinstance(store, OperationStore)
    kept = len(store._kept)
    assert kept
    jnp.subtract(jnp.asarray([1.0, 2.0, 3.0]), 1.0)
    assert len(store._kept) == kept
    with eagerly():
        jax.clear_caches()
        result = jnp.add(jnp.asarray([1.0, 2.0]), 1.0)
    assert len(store._kept) == kept
    np.testing.assert_array_equal(np.asarray(result), [2.0, 3.0])


@given(st.integers(0, len(CALL_CHOICES["layout"]) - 1))
def test_every_way_to_hand_over_keeps_shape_and_type(layout: int) -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    given_over = hand_over(value, Call(layout=layout))
    assert np.asarray(given_over).shape == (2, 3)
    assert np.asarray(given_over).dtype == np.float32
    if CALL_CHOICES["layout"][layout] != "expanded":
        np.testing.assert_array_equal(np.asarray(given_over), value)
