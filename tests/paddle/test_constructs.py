"""Every Paddle construct is what its kind says: guarded, documented, or the home of a fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rondo.frameworks.registry import is_installed, load_framework

# Not by importing it: the adapter has to start Paddle, in an environment of its own.
if not is_installed("paddle"):
    pytest.skip("paddle is not installed", allow_module_level=True)

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.frameworks.paddle.kinds import BAKED, SIDE_EFFECT
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.vocabulary import TargetSpec
from rondo.sequences.writer import Writer
from tests.frameworks._running import changes_in_parts

FRAMEWORK = load_framework("paddle")
VOCABULARY = FRAMEWORK.vocabulary()
CONSTRUCTS = {construct.name: construct for construct in VOCABULARY.constructs}
GUARDED = [name for name, construct in CONSTRUCTS.items() if construct.guarded]
KEPT = [
    name
    for name, construct in CONSTRUCTS.items()
    # The defaults of a rewritten function are those in its source: wrong from the first call on.
    if construct.kind in BAKED | {SIDE_EFFECT} and construct.actions and name != "function_defaults"
]
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "paddle.md"
VERSION = FRAMEWORK.environment()["paddle"]

FAULTS = (
    ("bound_method", "set_function", 0, "sot"),
    ("builtin_activation", "set_bounds", 0, "sot"),
    ("builtin_dropout", "set_rate", 0, "sot"),
    ("builtin_hook", "add_post_hook", 0, "sot"),
    ("builtin_norm", "set_epsilon", 0, "sot"),
    ("default_dtype", "set_dtype", 0, "sot"),
    ("function_defaults", "set_keyword_defaults", 0, "sot"),
    ("nested_argument", "add_entry", 0, "sot"),
    ("nested_argument", "reorder", 0, "sot"),
    ("optional_attribute", "set_bonus", 0, "sot"),
    ("optional_attribute", "set_gain", 0, "sot"),
    ("python_containers", "toggle_member", 0, "sot"),
    ("default_dtype", "set_dtype", 0, "ast"),
    ("grad_mode", "set_recording", 0, "ast"),
    ("literal_argument", "set_literal", 2, "ast"),
    ("nested_argument", "set_pair", 1, "ast"),
    ("nested_argument", "reorder", 0, "ast"),
    ("signed_zero", "set_height", 0, "ast"),
)
"""What shows on Paddle 3.3.1: construct, the change that exposes it, its value, the mode."""


def operands_of(construct: TargetSpec) -> dict[str, str]:
    graded = construct.kind in ("parameter", "built-in layer") or "grad" in construct.name
    return {"backward": "once", "inputs_grad": "yes"} if graded else {}


LONGEST = (VOCABULARY.limits["steps"] - 4) // 2
"""Changes of one sequence: each has a call behind it; a first call and three others come on top."""


def poked(construct: TargetSpec, mode: str) -> Iterator[Writer]:
    """Call, then every change with every value, each followed by the same call."""
    operands = operands_of(construct)
    for changes in changes_in_parts(construct, LONGEST):
        writer = Writer(VOCABULARY, "identity", construct.name, backend=mode).call(**operands)
        for action, value in changes:
            writer.change(construct.name, action, value).call(**operands)
        if construct.inputs or not construct.actions:
            writer.call(number="0.5", integer="3").call(batch=3).call(number="2.0")
        yield writer


def judged(writer: Writer) -> Result:
    return execute(encode(writer.sequence()), FRAMEWORK, settings=Settings(masked_every=0))


@pytest.mark.slow
@pytest.mark.parametrize("name", GUARDED)
def test_a_guarded_construct_never_alarms(name: str) -> None:
    for writer in poked(CONSTRUCTS[name], "sot"):
        result = judged(writer)
        assert (result.verdict, result.alarms) == ("agree", ())


@pytest.mark.slow
@pytest.mark.parametrize("name", KEPT)
def test_what_a_whole_graph_has_read_is_documented(name: str) -> None:
    results = [judged(writer) for writer in poked(CONSTRUCTS[name], "ast")]
    assert not any(result.alarms for result in results)
    # An optimizer writes parameters in place, which a program sees.
    expected = "agree" if name == "train_step" else "documented"
    assert expected in {result.verdict for result in results}


@pytest.mark.slow
@pytest.mark.skipif(VERSION != "3.3.1", reason="faults of this version")
@pytest.mark.parametrize(("name", "action", "value", "mode"), FAULTS)
def test_a_fault_is_an_alarm_and_under_no_rule(
    name: str, action: str, value: int, mode: str
) -> None:
    operands = operands_of(CONSTRUCTS[name])
    writer = Writer(VOCABULARY, "identity", name, backend=mode).call(**operands)
    result = judged(writer.change(name, action, value).call(**operands))
    assert result.verdict == "stateful"
    assert result.alarms[0].identity.exposing == f"{name}.{action}"


def test_what_a_whole_graph_has_read_does_not_cover_a_fault_beside_it() -> None:
    writer = Writer(VOCABULARY, "identity", "float_attribute", "default_dtype", backend="ast")
    writer.call().change("default_dtype", "set_dtype", 0).call()
    assert judged(writer).verdict == "stateful"


def test_the_same_change_is_documented_in_one_mode_and_a_fault_in_the_other() -> None:
    verdicts = {}
    for mode in VOCABULARY.backends:
        writer = Writer(VOCABULARY, "identity", "builtin_activation", backend=mode).call()
        writer.change("builtin_activation", "set_slope", 0).call()
        verdicts[mode] = judged(writer).verdict
    assert verdicts == {"sot": "stateful", "ast": "documented"}


def test_side_effects_are_documented_as_such() -> None:
    result = judged(Writer(VOCABULARY, "identity", "side_effect", backend="ast").call().call())
    assert result.verdict == "documented"
    assert "side effects" in result.steps[1].note


@pytest.mark.parametrize("action", ["replace_parameters", "freeze", "add_hook"])
def test_changes_of_any_program_that_a_whole_graph_has_read_are_documented(action: str) -> None:
    writer = Writer(VOCABULARY, "mlp", backend="ast").program("eval").call(backward="once")
    result = judged(writer.program(action, 0).call(backward="once"))
    assert (result.verdict, result.alarms) == ("documented", ())


@pytest.mark.skipif(VERSION != "3.3.1", reason="a fault of this version")
def test_dropping_one_layer_cures() -> None:
    """Which layer is guilty follows from the changes that drop each."""
    verdicts = {}
    for layer in FRAMEWORK.layers():
        writer = Writer(VOCABULARY, "identity", "builtin_activation").call()
        writer.change("builtin_activation", "set_slope", 0)
        for action, operand in layer.drop:
            writer.compiler(action, operand)
        verdicts[layer.name] = judged(writer.call()).verdict
    cures = [layer for layer, verdict in verdicts.items() if verdict == "agree"]
    assert cures == ["bytecode", "everything"]
    assert set(verdicts.values()) == {"agree", "stateful"}


def test_the_documentation_lists_exactly_these_constructs() -> None:
    text = DOCUMENTATION.read_text(encoding="utf-8").partition("## Constructs")[2]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{construct.name}`: {construct.doc.rstrip('.')} | {construct.kind} |"
        f" {'yes' if construct.guarded else 'no'} |"
        for construct in VOCABULARY.constructs
    ]


@pytest.mark.parametrize("name", ["python_random", "side_effect"])
def test_side_effects_of_compiling_ahead_are_those_of_a_program(name: str) -> None:
    writer = Writer(VOCABULARY, "identity", name, backend="ast")
    writer.change("compiler", "compile_ahead").change("compiler", "forget_programs").call()
    assert judged(writer).verdict == "documented"


@pytest.mark.slow
def test_what_eager_has_no_kernel_for_is_not_comparable() -> None:
    """Where the CPU has no instructions for the type, compiled code aborts the whole process."""
    writer = Writer(VOCABULARY, "identity", "user_hook").call(dtype="bfloat16")
    server = Server("paddle")
    try:
        result = Executor(server, Limits(), 1, lambda: None).run(encode(writer.sequence()))
    finally:
        server.close()
    died = [(alarm.identity.place, alarm.identity.exception) for alarm in result.alarms]
    assert (result.verdict, died) in [("not comparable", []), ("died", [("retained", "SIGABRT")])]


@pytest.mark.skipif(VERSION != "3.3.1", reason="a fault of this version")
def test_numbers_of_one_hash_share_a_program_of_a_whole_graph() -> None:
    """hash(-1) == hash(-2), and keys are compared by their hashes alone."""
    writer = Writer(VOCABULARY, "identity", "literal_argument", backend="ast")
    writer.change("literal_argument", "set_literal", 6).call()
    writer.change("literal_argument", "set_literal", 7).call()
    assert judged(writer).verdict == "stateful"


@pytest.mark.parametrize("other", ["function_defaults", "float_attribute", "global_value"])
def test_random_numbers_are_drawn_in_the_order_of_the_program(other: str) -> None:
    """Two operations that draw are independent, and a program might run either one first."""
    writer = Writer(VOCABULARY, "identity", other, "random_draw", backend="ast")
    assert judged(writer.call().call().call()).verdict == "agree"
