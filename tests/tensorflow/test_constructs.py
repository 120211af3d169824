"""Every TensorFlow construct is what its kind says: guarded, documented, or the home of a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.frameworks.registry import is_installed, load_framework

# Not by importing it: the adapter has to start TensorFlow, in an environment of its own.
if not is_installed("tensorflow"):
    pytest.skip("tensorflow is not installed", allow_module_level=True)

from rondo.frameworks.tensorflow.kinds import CAPTURED, SIDE_EFFECT
from rondo.oracle.observation import Observation
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.vocabulary import TargetSpec
from rondo.sequences.writer import Writer

FRAMEWORK = load_framework("tensorflow")
VOCABULARY = FRAMEWORK.vocabulary()
CONSTRUCTS = {construct.name: construct for construct in VOCABULARY.constructs}
GUARDED = [name for name, construct in CONSTRUCTS.items() if construct.guarded]
CAPTURING = [n for n, c in CONSTRUCTS.items() if c.kind in (CAPTURED, SIDE_EFFECT)]
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "tensorflow.md"
VERSION = FRAMEWORK.environment()["tensorflow"]

FAULTS = {
    "literal_argument": ("set_literal", 1),
    "nested_literal": ("set_literal", 1),
    "nested_arguments": ("reorder_weights", 0),
    "signed_zero": ("set_height", 0),
    "keras_decorated": ("set_weights", 0),
    "keras_policy": ("set_policy", 0),
    "keras_epsilon": ("set_epsilon", 0),
    "keras_floatx": ("set_floatx", 0),
    "keras_axes": ("set_order", 0),
    "numeric_check": ("set_checks", 0),
    "global_seed": ("set_seed", 1),
}
"""What shows on TensorFlow 2.21.0: construct -> the change that exposes it."""


def poked(construct: TargetSpec) -> Writer:
    """Call, then every change with every value, each followed by the same call."""
    operands = {"backward": "once", "inputs_grad": "yes"} if "grad" in construct.name else {}
    writer = Writer(VOCABULARY, "identity", construct.name).call(**operands)
    for action in construct.actions:
        for value in range(action.values):
            writer.change(construct.name, action.name, value).call(**operands)
    return writer.call(number="0.5", integer="3", **operands)


def judged(writer: Writer) -> Result:
    return execute(encode(writer.sequence()), FRAMEWORK, settings=Settings(masked_every=0))


@pytest.mark.slow
@pytest.mark.parametrize("name", GUARDED)
def test_a_guarded_construct_never_alarms(name: str) -> None:
    result = judged(poked(CONSTRUCTS[name]))
    assert (result.verdict, result.alarms) == ("agree", ())


@pytest.mark.slow
@pytest.mark.parametrize("name", CAPTURING)
def test_captured_python_state_is_documented(name: str) -> None:
    result = judged(poked(CONSTRUCTS[name]))
    assert (result.verdict, result.alarms) == ("documented", ())
    notes = {step.note for step in result.steps if step.verdict == "documented"}
    assert all("https://www.tensorflow.org/guide/function#" in note for note in notes)


@pytest.mark.slow
@pytest.mark.skipif(VERSION != "2.21.0", reason="faults of this version")
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_is_an_alarm_and_under_no_rule(name: str) -> None:
    action, value = FAULTS[name]
    writer = Writer(VOCABULARY, "identity", name).call().change(name, action, value).call()
    result = judged(writer)
    assert result.verdict == "stateful"
    assert result.alarms[0].identity.exposing == f"{name}.{action}"


@pytest.mark.skipif(VERSION != "2.21.0", reason="a fault of this version")
@pytest.mark.parametrize("backend", ["graph", "xla"])
def test_after_a_first_trace_that_failed_calls_return_nothing(backend: str) -> None:
    writer = Writer(VOCABULARY, "identity", "lazy_variable", backend=backend)
    result = judged(writer.call(number="-1.0").call())
    assert result.verdict == "stateful"
    assert result.alarms[0].identity.place == "output"


@pytest.mark.skipif(VERSION != "2.21.0", reason="a fault of this version")
def test_the_trace_of_shape_inference_has_no_gradient() -> None:
    writer = Writer(VOCABULARY, "identity", "keras_decorated").call(backward="once")
    result = judged(writer)
    assert result.verdict == "stateful"
    assert result.alarms[0].identity.place == "grad"


def test_a_call_is_traced_once_so_that_side_effects_happen_once() -> None:
    """Making a variable while tracing makes tf.function trace twice; no construct may."""
    for name in ("lazy_variable", "train_step", "keras_random", "keras_decorated", "keras_dropout"):
        result = judged(Writer(VOCABULARY, "identity", name, "python_random").call())
        assert result.verdict == "agree", name


@pytest.mark.skipif(VERSION != "2.21.0", reason="a fault of this version")
def test_an_integer_and_an_equal_member_share_a_trace() -> None:
    writer = Writer(VOCABULARY, "identity", "mode_argument")
    writer.change("mode_argument", "set_mode", 2).call()
    writer.change("mode_argument", "set_mode", 3).call()
    assert judged(writer).verdict == "stateful"


def test_keras_global_generator_stays_in_a_trace() -> None:
    writer = Writer(VOCABULARY, "identity", "keras_random")
    writer.change("keras_random", "set_seed", 0).call()
    writer.change("keras_random", "set_seed", 1).call()
    assert judged(writer).verdict == "stateful"


def test_captured_state_does_not_cover_a_fault_beside_it() -> None:
    """Tracing again after changes of Python state leaves what a setting made stale."""
    writer = Writer(VOCABULARY, "identity", "float_attribute", "keras_epsilon").call()
    writer.change("keras_epsilon", "set_epsilon", 0).call()
    assert judged(writer).verdict == "stateful"


def test_a_changed_attribute_and_no_change_at_all_are_told_apart() -> None:
    writer = Writer(VOCABULARY, "identity", "float_attribute").call()
    assert judged(writer.call()).verdict == "agree"
    changed = Writer(VOCABULARY, "identity", "float_attribute").call()
    result = judged(changed.change("float_attribute", "set_factor", 1).call())
    assert result.verdict == "documented"
    assert "depending_on_python_objects" in result.steps[2].note


def test_side_effects_are_documented_as_such() -> None:
    result = judged(Writer(VOCABULARY, "identity", "side_effect").call().call())
    assert result.verdict == "documented"
    assert "executing_python_side_effects" in result.steps[1].note


def test_refusals_of_xla_are_documented_when_xla_was_asked_for() -> None:
    result = judged(Writer(VOCABULARY, "identity", "python_call", backend="xla").call())
    assert (result.verdict, result.alarms) == ("documented", ())
    assert judged(Writer(VOCABULARY, "identity", "python_call").call()).verdict == "agree"


def test_the_documentation_lists_exactly_these_constructs() -> None:
    text = DOCUMENTATION.read_text(encoding="utf-8").partition("## Constructs")[2]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{construct.name}`: {construct.doc.rstrip('.')} | {construct.kind} |"
        f" {'yes' if construct.guarded else 'no'} |"
        for construct in VOCABULARY.constructs
    ]


@pytest.mark.skipif(VERSION != "2.21.0", reason="faults of this version")
@pytest.mark.parametrize(
    ("name", "value", "cure"),
    [("literal_argument", 1, "outermost traces"), ("nested_literal", 1, "inner traces")],
)
def test_dropping_one_layer_cures(name: str, value: int, cure: str) -> None:
    """Which layer is guilty follows from the changes that drop each."""
    verdicts = {}
    for layer in FRAMEWORK.layers():
        writer = Writer(VOCABULARY, "identity", name).call()
        writer.change(name, "set_literal", value)
        for action, operand in layer.drop:
            writer.compiler(action, operand)
        verdicts[layer.name] = judged(writer.call()).verdict
    assert verdicts.pop("kernels") == "stateful"
    assert verdicts.pop("all traces") == "agree"
    assert [layer for layer, verdict in verdicts.items() if verdict == "agree"] == [cure]


@pytest.mark.parametrize("name", ["python_random", "side_effect"])
def test_side_effects_of_tracing_ahead_are_those_of_a_trace(name: str) -> None:
    writer = Writer(VOCABULARY, "identity", name)
    writer.change("compiler", "trace_ahead", 0).change("compiler", "forget_outermost").call()
    assert judged(writer).verdict == "documented"


def test_tracing_ahead_without_side_effects_covers_no_fault() -> None:
    writer = Writer(VOCABULARY, "identity", "keras_epsilon").change("compiler", "trace_ahead", 0)
    writer.change("keras_epsilon", "set_epsilon", 0).call()
    assert judged(writer).verdict == "stateful"


def test_a_kernel_that_is_missing_is_known_by_its_message() -> None:
    import tensorflow as tf  # the adapter starts it with an environment of its own

    with pytest.raises(tf.errors.OpError) as raised:
        tf.linalg.inv(tf.cast(tf.eye(3), tf.bfloat16))
    said = Observation({}, returned=False, exception="OpError", message=str(raised.value))
    assert FRAMEWORK.cannot(said).startswith("eager has no kernel")
