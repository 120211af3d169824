"""A user's own function or pytree as a subject for jax.jit."""

from __future__ import annotations

from typing import Any

import pytest

from rondo.frameworks.registry import is_installed

if not is_installed("jax"):
    pytest.skip("jax is not installed", allow_module_level=True)

import jax
import jax.numpy as jnp
import numpy as np

from rondo.errors import SubjectError
from rondo.frameworks.base import Arm
from rondo.frameworks.jax.adapter import JaxFramework
from rondo.frameworks.jax.subject import as_module
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import decode, encode
from rondo.sequences.writer import Writer
from rondo.subjects.user import NAME, subject


@jax.tree_util.register_pytree_node_class
class Affine:
    """What an Equinox module is to JAX: a pytree that can be called."""

    def __init__(self, weight: Any, name: str = "affine") -> None:
        self.weight = weight
        self.name = name

    def __call__(self, x: Any) -> Any:
        return x @ self.weight

    def tree_flatten(self) -> Any:
        return (self.weight,), self.name

    @classmethod
    def tree_unflatten(cls, name: str, children: Any) -> Affine:
        return cls(*children, name)


def affine() -> Affine:
    return Affine(jnp.asarray(np.eye(4, 3, dtype=np.float32)))


def framework_for(build: Any) -> JaxFramework:
    framework = JaxFramework()
    framework.add_subject(subject(build, np.zeros((2, 4), np.float32)))
    return framework


@pytest.mark.parametrize("build", [affine, lambda: jnp.tanh], ids=["pytree", "function"])
def test_it_runs_and_agrees(build: Any) -> None:
    framework = framework_for(build)
    vocabulary = framework.vocabulary()
    assert [each.name for each in vocabulary.architectures] == [NAME]
    writer = Writer(vocabulary, NAME).call().call(batch=3).call()
    result = execute(
        encode(writer.sequence()),
        framework,
        settings=Settings(masked_every=1),
        vocabulary=vocabulary,
    )
    assert (result.verdict, result.raised) == ("agree", 0)


def test_the_arrays_of_a_pytree_are_its_parameters() -> None:
    framework = framework_for(affine)
    writer = Writer(framework.vocabulary(), NAME).call(backward="once")
    sequence = decode(encode(writer.sequence()), framework.vocabulary())
    with framework.session(sequence), framework.arm(sequence, Arm.EAGER) as program:
        seen = program.call(next(call for _, call in sequence.calls()), compiled=False)
    assert any(path.startswith("param.body.model") for path in seen.leaves)
    assert any(path.startswith("grad.body.model") for path in seen.leaves)


def test_what_cannot_be_called_is_one_clear_line() -> None:
    with pytest.raises(SubjectError, match="built a int"):
        as_module(3)
