"""JAX's arms are what their names say: uncached, compiled, compiled again, in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rondo.frameworks.registry import is_installed

if not is_installed("jax"):
    pytest.skip("jax is not installed", allow_module_level=True)

import jax
import jax.numpy as jnp
import numpy as np

from rondo.frameworks.base import Arm
from rondo.frameworks.jax import flags
from rondo.frameworks.jax.adapter import JaxFramework
from rondo.frameworks.jax.eager import eagerly
from rondo.frameworks.jax.module import Module, read_state
from rondo.frameworks.registry import load_framework
from rondo.sequences.step import Call, Change
from rondo.sequences.writer import Writer
from tests.frameworks._running import first_call, opened, watched

FRAMEWORK = load_framework("jax")
assert isinstance(FRAMEWORK, JaxFramework)
VOCABULARY = FRAMEWORK.vocabulary()


class Factor:
    """Something that a function reads and nobody passes."""

    value = 1.0

    def scaled(self, carry: Any, x: Any) -> tuple[Any, Any]:
        return carry * self.value, x


def test_jax_keeps_traces_without_any_jit() -> None:
    """Why the eager arm needs more than leaving jit out."""
    factor = Factor()
    body = factor.scaled
    seen = []
    for value in (1.0, 2.0):
        factor.value = value
        seen.append(float(jax.lax.scan(body, jnp.asarray(3.0), jnp.arange(1))[0]))
    jax.clear_caches()
    assert seen == [3.0, 3.0]


CACHED_WITHOUT_JIT = {
    "scan_body": "set_factor",
    "cond_branches": "set_amount",
    "checkpointed": "set_factor",
    "reduce_function": "set_weight",
    "static_self": "set_factor",
    "closure_array": "replace_array",
}


@pytest.mark.parametrize("construct", sorted(CACHED_WITHOUT_JIT))
def test_the_eager_arm_keeps_no_trace_of_a_function(construct: str) -> None:
    action = CACHED_WITHOUT_JIT[construct]
    writer = Writer(VOCABULARY, "identity", construct).call().change(construct, action, 0).call()
    with opened(FRAMEWORK, writer, Arm.EAGER) as (program, sequence):
        call, change, _ = sequence.steps
        before = program.call(call, compiled=False)  # type: ignore[arg-type]
        program.change(change)  # type: ignore[arg-type]
        after = program.call(call, compiled=False)  # type: ignore[arg-type]
    assert before.leaves["output[0]"].digest() != after.leaves["output[0]"].digest()


def test_nothing_is_traced_in_the_eager_arm() -> None:
    seen: list[bool] = []

    def look(x: Any) -> Any:
        seen.append(isinstance(x, jax.core.Tracer))
        return x

    with eagerly():
        jax.jit(look)(jnp.asarray(1.0))
        jax.lax.while_loop(lambda x: x < 2.0, lambda x: look(x) + 1.0, jnp.asarray(0.0))
    assert seen == [False, False, False]


def test_compiled_calls_are_traced_and_the_trace_is_used_again() -> None:
    writer = Writer(VOCABULARY, "identity", "static_field").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        _, first = watched(FRAMEWORK, program, first_call(sequence))
        _, second = watched(FRAMEWORK, program, first_call(sequence))
    assert "trace subject 1" in first.labels
    assert "compile jit(subject) 1" in first.labels
    assert (first.compilations, second.compilations) == (1, 0)
    assert second.compiled
    assert second.labels == ()


def test_a_reset_empties_the_functions_own_caches_and_those_of_operations() -> None:
    writer = Writer(VOCABULARY, "identity").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        program.call(first_call(sequence), compiled=True)
        (function,) = program.retained_functions()  # type: ignore[attr-defined]
        assert function._cache_size() == 1
        FRAMEWORK.reset()
        assert function._cache_size() == 0


def test_every_reset_starts_with_an_empty_persistent_cache() -> None:
    writer = Writer(VOCABULARY, "identity", "grad_inside", cache="disk").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        folder = Path(jax.config.jax_compilation_cache_dir)
        _, first = watched(FRAMEWORK, program, first_call(sequence))
        assert any(folder.iterdir())
        jax.clear_caches()
        _, warm = watched(FRAMEWORK, program, first_call(sequence))
        FRAMEWORK.reset()
        fresh = Path(jax.config.jax_compilation_cache_dir)
        assert fresh != folder
        assert not folder.exists()
        assert not any(fresh.iterdir())
    assert any("cache_misses" in label for label in first.labels)
    assert any("cache_hits" in label for label in warm.labels)
    assert jax.config.jax_compilation_cache_dir is None
    assert not fresh.exists()


def test_without_jit_around_it_operations_are_what_is_compiled() -> None:
    writer = Writer(VOCABULARY, "identity", "static_field", backend="op_by_op").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        _, events = watched(FRAMEWORK, program, first_call(sequence))
    assert events.compilations >= 1
    assert not any("subject" in label for label in events.labels)


def test_the_reference_computes_in_float64_whatever_the_flags_say() -> None:
    number = [action.name for action in VOCABULARY.targets_by_name["program"].actions].index("flag")
    off = flags.CHOICES.index(("jax_enable_x64", False))
    writer = Writer(VOCABULARY, "mlp").program("eval").call()
    with opened(FRAMEWORK, writer, Arm.REFERENCE) as (program, sequence):
        program.change(sequence.steps[0])  # type: ignore[arg-type]
        program.change(Change("program", number, off))
        observation = program.call(first_call(sequence), compiled=False)
    floats = [leaf for path, leaf in observation.leaves.items() if path.startswith("output[")]
    assert [leaf.dtype for leaf in floats] == ["float64"]


def test_dropout_is_equal_in_float32_and_in_the_reference() -> None:
    """Otherwise the reference would measure another program and allow any error."""
    writer = Writer(VOCABULARY, "mlp").call()
    values = []
    for arm in (Arm.EAGER, Arm.REFERENCE):
        with opened(FRAMEWORK, writer, arm) as (program, sequence):
            seen = program.call(first_call(sequence), compiled=False)
            values.append(seen.leaves["output[0]"].values)
    np.testing.assert_allclose(*values, rtol=1e-4, atol=1e-5)


def test_each_call_has_random_numbers_of_its_own() -> None:
    writer = Writer(VOCABULARY, "mlp").call()
    with opened(FRAMEWORK, writer, Arm.EAGER) as (program, sequence):
        seen = [program.call(first_call(sequence), compiled=False) for _ in range(2)]
    assert seen[0].leaves["output[0]"].digest() != seen[1].leaves["output[0]"].digest()


def test_flags_set_by_a_sequence_are_as_before_afterwards() -> None:
    before = flags.read_flags()
    writer = Writer(VOCABULARY, "identity").call()
    number = [action.name for action in VOCABULARY.targets_by_name["program"].actions].index("flag")
    with opened(FRAMEWORK, writer, Arm.EAGER) as (program, _):
        for value in range(len(flags.CHOICES)):
            program.change(Change("program", number, value))
        assert flags.read_flags() != before
    assert flags.read_flags() == before


def test_debug_nans_looks_at_results_in_every_arm() -> None:
    """A NaN in a result raises in both; what is made on the way is not looked at in either."""
    writer = Writer(VOCABULARY, "identity", "debug_nans_flag").call(values="zeros")
    for arm, compiled in ((Arm.EAGER, False), (Arm.RETAINED, True)):
        with opened(FRAMEWORK, writer, arm) as (program, sequence):
            assert program.call(first_call(sequence), compiled=compiled).returned
            flags.set_flag("jax_debug_nans", True)
            assert not program.call(first_call(sequence), compiled=compiled).returned


def test_donated_buffers_are_gone_and_the_program_goes_on() -> None:
    writer = Writer(VOCABULARY, "identity", "donated_buffer").compiler("donate").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        program.compiler_change(sequence.steps[0])  # type: ignore[arg-type]
        given = read_state(program.model)  # type: ignore[attr-defined]
        seen = program.call(first_call(sequence), compiled=True)
        assert all(array.is_deleted() for array in given.values())
        assert seen.returned
        assert program.call(first_call(sequence), compiled=True).returned


def test_a_usual_call_has_only_usual_operands() -> None:
    assert Call().choice("dtype") == "float32"
    assert issubclass(FRAMEWORK.constructs["static_field"][0].build, Module)  # type: ignore[union-attr]
