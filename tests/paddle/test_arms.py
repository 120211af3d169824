"""Paddle's arms are what their names say: eager, compiled, compiled again, in float64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rondo.frameworks.registry import is_installed, load_framework

# Not by importing it: the adapter has to start Paddle, in an environment of its own.
if not is_installed("paddle"):
    pytest.skip("paddle is not installed", allow_module_level=True)

FRAMEWORK = load_framework("paddle")

import numpy as np  # noqa: E402
import paddle  # noqa: E402  (the adapter starts Paddle with an environment of its own)
from paddle.jit.dy2static import program_translator  # noqa: E402
from paddle.jit.sot.opcode_translator.executor.executor_cache import (  # noqa: E402
    OpcodeExecutorCache,
)
from paddle.jit.sot.symbolic.compile_cache import CompileSIRCache  # noqa: E402

from rondo.frameworks.base import Arm  # noqa: E402
from rondo.frameworks.paddle import ambient, statics, subject  # noqa: E402
from rondo.oracle.run import Run, Settings, execute  # noqa: E402
from rondo.sequences.codec import decode, encode  # noqa: E402
from rondo.sequences.step import Change  # noqa: E402
from rondo.sequences.writer import Writer  # noqa: E402
from tests.frameworks._running import first_call, judged, opened, watched  # noqa: E402

VOCABULARY = FRAMEWORK.vocabulary()
WATCHER = FRAMEWORK._watcher  # type: ignore[attr-defined]
ROOT = Path(__file__).parents[2]
MODES = ("sot", "ast")


@pytest.mark.parametrize("construct", ["float_attribute", "inner_static"])
@pytest.mark.parametrize("mode", MODES)
def test_the_eager_arm_translates_builds_and_runs_nothing(construct: str, mode: str) -> None:
    FRAMEWORK.reset()
    writer = Writer(VOCABULARY, "identity", construct, backend=mode).call()
    with opened(FRAMEWORK, writer, Arm.EAGER) as (program, sequence):
        WATCHER.begin()
        assert program.call(first_call(sequence), compiled=False).returned
        assert (WATCHER.built, WATCHER.ran, statics.translations()) == (0, 0, {})
        assert program.call(first_call(sequence), compiled=True).returned
        assert WATCHER.built >= 1
        assert WATCHER.ran >= 1


@pytest.mark.parametrize("mode", MODES)
def test_a_graph_of_one_operation_is_compiled_and_used_again(mode: str) -> None:
    """By Paddle's default, bytecode capture would leave it to Python: `MIN_GRAPH_SIZE` is 10."""
    writer = Writer(VOCABULARY, "identity", "float_attribute", backend=mode).call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        _, first = watched(FRAMEWORK, program, first_call(sequence))
        _, second = watched(FRAMEWORK, program, first_call(sequence))
    assert (first.compiled, first.compilations) == (True, 1)
    assert (second.compiled, second.compilations, second.labels) == (True, 0, ())


def test_below_the_least_size_of_graphs_a_call_does_not_count_as_compiled() -> None:
    writer = Writer(VOCABULARY, "identity", "float_attribute")
    writer.compiler("min_graph_size", 0).call()
    assert judged(FRAMEWORK, writer).verdict == "not compiled"


def test_with_to_static_switched_off_a_call_does_not_count_as_compiled() -> None:
    writer = Writer(VOCABULARY, "identity", "float_attribute").program("enable_to_static", 0).call()
    assert judged(FRAMEWORK, writer).verdict == "not compiled"


def test_wrapping_again_is_no_reset_of_bytecode_capture_and_the_reset_is_one() -> None:
    """Translated code is kept by code object, whatever wraps it."""
    writer = Writer(VOCABULARY, "identity", "float_attribute").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        call = first_call(sequence)
        _, first = watched(FRAMEWORK, program, call)
        program.rewrap()  # type: ignore[attr-defined]
        _, wrapped = watched(FRAMEWORK, program, call)
        FRAMEWORK.reset()
        _, reset = watched(FRAMEWORK, program, call)
    assert (wrapped.compiled, wrapped.compilations) == (True, 0)
    assert first.labels == reset.labels
    assert reset.compilations == first.compilations == 1


def test_the_reset_of_whole_graph_capture_needs_no_new_wrapper() -> None:
    writer = Writer(VOCABULARY, "identity", "inner_static", backend="ast").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        FRAMEWORK.reset()
        call = first_call(sequence)
        _, first = watched(FRAMEWORK, program, call)
        _, second = watched(FRAMEWORK, program, call)
        FRAMEWORK.reset()
        _, reset = watched(FRAMEWORK, program, call)
    assert second.compilations == 0
    assert reset.compilations == first.compilations >= 1


@pytest.mark.parametrize("mode", MODES)
def test_the_reset_arm_compiled_again(mode: str) -> None:
    writer = Writer(VOCABULARY, "identity", "float_attribute", backend=mode).call().call()
    sequence = decode(encode(writer.sequence()), VOCABULARY)
    with FRAMEWORK.session(sequence):
        run = Run(sequence, FRAMEWORK, VOCABULARY)
        retained = run.retained()
        _, events = run.reset(1)
    assert [event.compilations for _, event, _ in retained.events] == [1, 0]
    assert (events.compiled, events.compilations) == (True, 1)


def test_a_reset_leaves_nothing_in_any_cache_nor_among_globals() -> None:
    writer = Writer(VOCABULARY, "identity", "float_attribute").call()
    with opened(FRAMEWORK, writer, Arm.RETAINED) as (program, sequence):
        program.call(first_call(sequence), compiled=True)
        installed = [name for name in vars(subject) if name.startswith(statics.INSTALLED)]
        assert installed
        assert OpcodeExecutorCache().cache
        FRAMEWORK.reset()
    assert not OpcodeExecutorCache().cache
    assert not CompileSIRCache().cache
    assert not program_translator._FUNCTION_CACHE._converted_static_func_caches
    assert not [name for name in vars(subject) if name.startswith(statics.INSTALLED)]


def test_a_reset_empties_functions_inside_of_functions() -> None:
    @paddle.jit.to_static(full_graph=True)
    def inner(x: Any) -> Any:
        return x + 1.0

    inner(paddle.ones([1]))
    assert inner.get_traced_count() == 1
    statics.reset()
    assert inner.get_traced_count() == 0
    assert float(inner(paddle.ones([1]))[0]) == 2.0


def test_code_that_came_without_a_graph_is_still_looked_at() -> None:
    """After some such calls Paddle would leave a code object alone for the life of the process."""
    empty = Writer(VOCABULARY, "identity").call()
    with opened(FRAMEWORK, empty, Arm.RETAINED) as (program, sequence):
        for _ in range(40):
            program.call(first_call(sequence), compiled=True)
    writer = Writer(VOCABULARY, "identity", "float_attribute").call()
    assert judged(FRAMEWORK, writer).verdict == "agree"


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


def test_every_mode_is_put_back() -> None:
    target = VOCABULARY.targets_by_name["program"]
    before = ambient.read_ambient()
    writer = Writer(VOCABULARY, "identity").call()
    with opened(FRAMEWORK, writer, Arm.EAGER) as (program, _):
        for number, action in enumerate(target.actions):
            if action.name in ("default_dtype", "grad_mode", "enable_to_static"):
                program.change(Change("program", number, 0))
        assert ambient.read_ambient() != before
    assert ambient.read_ambient() == before


def test_parameters_have_the_same_names_in_every_arm() -> None:
    """Programs sort parameters by name."""
    names = []
    for arm in (Arm.EAGER, Arm.RETAINED):
        writer = Writer(VOCABULARY, "mlp").call()
        with opened(FRAMEWORK, writer, arm) as (program, _):
            names.append([each.name for each in program.module.parameters()])  # type: ignore[attr-defined]
    assert names[0] == names[1]


WARM = """
import os
from rondo.frameworks.registry import load_framework
framework = load_framework("paddle")
framework.warm()
assert len(os.listdir("/proc/self/task")) == 1, "threads were started"
from rondo.oracle.run import Settings, execute
pid = os.fork()
if not pid:
    result = execute(bytes.fromhex("{data}"), framework, settings=Settings(masked_every=0))
    os._exit(0 if result.verdict == "agree" else 1)
assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.mark.slow
def test_a_warm_process_has_no_threads_and_its_children_compile() -> None:
    data = encode(Writer(VOCABULARY, "identity", "float_attribute").call().sequence())
    done = subprocess.run(
        [sys.executable, "-c", WARM.replace("{data}", data.hex())],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-500:]


def test_equal_bytes_show_equal_behaviours_whatever_ran_before() -> None:
    data = encode(Writer(VOCABULARY, "identity", "graph_break").call().call(batch=3).sequence())
    first = execute(data, FRAMEWORK, settings=Settings(masked_every=0))
    judged(FRAMEWORK, Writer(VOCABULARY, "mlp", backend="ast").call())
    again = execute(data, FRAMEWORK, settings=Settings(masked_every=0))
    assert first.behaviours == again.behaviours
