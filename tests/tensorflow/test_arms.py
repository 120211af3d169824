"""TensorFlow's arms are what their names say: eager, compiled, compiled again, in float64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rondo.frameworks.registry import is_installed, load_framework

# Not by importing it: the adapter has to start TensorFlow, in an environment of its own.
if not is_installed("tensorflow"):
    pytest.skip("tensorflow is not installed", allow_module_level=True)


FRAMEWORK = load_framework("tensorflow")

import keras  # noqa: E402  (the adapter starts TensorFlow with an environment of its own)
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from rondo.frameworks.base import Arm  # noqa: E402
from rondo.frameworks.tensorflow import ambient  # noqa: E402
from rondo.frameworks.tensorflow.functions import all_functions, reset_functions  # noqa: E402
from rondo.frameworks.tensorflow.program import eagerly  # noqa: E402
from rondo.sequences.step import Change  # noqa: E402
from rondo.sequences.writer import Writer  # noqa: E402
from tests.frameworks._running import first_call, opened, watched  # noqa: E402

VOCABULARY = FRAMEWORK.vocabulary()
ROOT = Path(__file__).parents[2]


def traces() -> int:
    return sum(function.experimental_get_tracing_count() for function in all_functions())


@pytest.mark.parametrize("construct", ["nested_function", "inner_signature", "method_table"])
def test_the_eager_arm_traces_nothing_inside_of_the_subject(construct: str) -> None:
    FRAMEWORK.reset()
    writer = Writer(VOCABULARY, "identity", construct).call()
    with opened(FRAMEWORK, writer, Arm.EAGER) as (program, sequence):
        assert program.call(first_call(sequence), compiled=False).returned
        assert traces() == 0
        assert program.call(first_call(sequence), compiled=True).returned
        assert traces() > 0


def test_nothing_is_symbolic_in_the_eager_arm() -> None:
    seen: list[bool] = []

    @tf.function
    def look(x: Any) -> Any:
        seen.append(tf.executing_eagerly())
        return x

    with eagerly():
        look(tf.constant(1.0))
    look(tf.constant(1.0))
    assert seen == [True, False]


def test_compiled_calls_are_traced_and_the_trace_is_used_again() -> None:
    writer = Writer(VOCABULARY, "identity", "captured_variable").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        _, first = watched(FRAMEWORK, program, first_call(sequence))
        _, second = watched(FRAMEWORK, program, first_call(sequence))
    assert "trace forward: first" in first.labels
    assert (first.compilations, second.compilations) == (1, 0)
    assert second.compiled
    assert second.labels == ()


def test_xla_compiles_and_says_so() -> None:
    writer = Writer(VOCABULARY, "identity", "captured_variable", backend="xla").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        _, first = watched(FRAMEWORK, program, first_call(sequence))
        _, second = watched(FRAMEWORK, program, first_call(sequence))
    assert "xla compile" in first.labels
    assert first.compilations == 2
    assert second.labels == ("xla reuse",)
    assert second.compilations == 0


def test_one_trace_for_many_sizes_is_compiled_for_each() -> None:
    """What the tracing count does not show and the log does."""
    writer = Writer(VOCABULARY, "identity", backend="xla", dynamic="true")
    writer.call().call(batch=3).call(batch=8)
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        events = [watched(FRAMEWORK, program, call)[1] for _, call in sequence.calls()]
    assert "graph forward generalised" in events[1].labels
    assert not [label for label in events[2].labels if label.startswith(("trace", "recompile"))]
    assert "xla compile" in events[2].labels


def test_a_reset_empties_functions_inside_of_functions_and_those_of_keras() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return x + 1.0

    outer = tf.function(lambda x: inner(x) * 2.0)
    model = keras.Sequential([keras.layers.Dense(2)])
    outer(tf.ones([1, 2]))
    model.predict_on_batch(np.ones((1, 2), np.float32))
    before = [inner, outer, model.predict_function]
    assert all(function.experimental_get_tracing_count() for function in before)
    reset_functions()
    assert [function.experimental_get_tracing_count() for function in before] == [0, 0, 0]
    assert traces() == 0
    assert float(outer(tf.ones([1, 2]))[0, 0]) == 4.0


def test_a_reset_forgets_a_first_trace_that_failed() -> None:
    class Lazy(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight: Any = None

        def __call__(self, x: Any) -> Any:
            if self.weight is None:
                self.weight = tf.Variable(tf.ones([3, 2]))
            return tf.matmul(x, self.weight)

    module = Lazy()
    function = tf.function(module)
    with pytest.raises(ValueError, match="must be equal"):
        function(tf.ones([1, 5]))
    module.weight = None
    reset_functions()
    assert function(tf.ones([1, 3])) is not None


def test_functions_that_are_gone_are_not_kept() -> None:
    before = len(all_functions())
    function = tf.function(lambda x: x)
    assert len(all_functions()) == before + 1
    del function
    assert len(all_functions()) == before


def test_with_functions_run_eagerly_a_call_does_not_count_as_compiled() -> None:
    actions = [action.name for action in VOCABULARY.targets_by_name["program"].actions]
    off = Change("program", actions.index("run_functions_eagerly"), 0)
    writer = Writer(VOCABULARY, "identity").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        program.change(off)
        _, events = watched(FRAMEWORK, program, first_call(sequence))
    assert not events.compiled


def test_the_reference_computes_in_float64_from_the_same_numbers() -> None:
    writer = Writer(VOCABULARY, "mlp").call()
    values = []
    for arm in (Arm.EAGER, Arm.REFERENCE):
        with opened(FRAMEWORK, writer, arm) as (program, sequence):
            leaf = program.call(first_call(sequence), compiled=False).leaves["output[0]"]
            values.append(leaf.values)
    assert leaf.dtype == "float64"
    # Dropout is on: the reference must have dropped the same elements.
    np.testing.assert_allclose(*values, rtol=1e-4, atol=1e-5)


def test_every_setting_is_put_back() -> None:
    program_target = VOCABULARY.targets_by_name["program"]
    before = ambient.read_ambient()
    writer = Writer(VOCABULARY, "identity").call()
    with opened(FRAMEWORK, writer, Arm.EAGER) as (program, _):
        for number, action in enumerate(program_target.actions):
            if action.name in ("epsilon", "floatx", "check_numerics", "dtype_policy", "seed"):
                program.change(Change("program", number, 0))
        assert ambient.read_ambient() != before
    assert ambient.read_ambient() == before


WARM = """
import os
from rondo.frameworks.registry import load_framework
framework = load_framework("tensorflow")
framework.warm()
from rondo.frameworks.tensorflow.functions import has_context
assert not has_context(), "something made a tensor"
assert len(os.listdir("/proc/self/task")) == 1, "threads were started"
pid = os.fork()
if not pid:
    import tensorflow as tf
    assert float(tf.function(lambda x: x + 1.0)(tf.constant(1.0))) == 2.0
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.mark.slow
def test_a_warm_process_has_no_threads_and_its_children_trace() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", WARM], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-500:]
