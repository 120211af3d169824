"""Every construct of JAX is what its kind says: guarded, documented, or the home of a fault."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rondo.frameworks.registry import is_installed

if not is_installed("jax"):
    pytest.skip("jax is not installed", allow_module_level=True)

import jax

from rondo.frameworks.jax.kinds import CAPTURED, EQUALITY, SIDE_EFFECT
from rondo.frameworks.registry import load_framework
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.vocabulary import TargetSpec
from rondo.sequences.writer import Writer
from tests.frameworks._running import changes_in_parts

FRAMEWORK = load_framework("jax")
VOCABULARY = FRAMEWORK.vocabulary()
CONSTRUCTS = {construct.name: construct for construct in VOCABULARY.constructs}
GUARDED = [name for name, construct in CONSTRUCTS.items() if construct.guarded]
BREAKING = [
    name
    for name, construct in CONSTRUCTS.items()
    if construct.kind in (CAPTURED, SIDE_EFFECT, EQUALITY)
]
FAULTS = {
    "gumbel_flag": ("set_flag_to", 1),
    "prng_impl_flag": ("set_flag_to", 1),
    "custom_prng_flag": ("set_flag_to", 1),
    "static_tuple": ("set_static", 1),
    "inner_static_tuple": ("set_values", 0),
    "debug_nans_scope": ("set_flag_to", 1),
}
"""What shows on JAX 0.10.2: construct -> the change that exposes it."""


CHANGES_OF_ONE = (VOCABULARY.limits["steps"] - 2) // 2
"""A change and a call each, between a first call and a last one."""


def poked(construct: TargetSpec) -> Iterator[Writer]:
    """Call, then every change with every value, each followed by the same call."""
    operands = {"backward": "once", "inputs_grad": "yes"} if "_rule" in construct.name else {}
    for chosen in changes_in_parts(construct, CHANGES_OF_ONE):
        writer = Writer(VOCABULARY, "identity", construct.name).call(**operands)
        for action, value in chosen:
            writer.change(construct.name, action, value).call(**operands)
        yield writer.call(number="0.5", integer="3", **operands)


def judged(writer: Writer) -> Result:
    return execute(encode(writer.sequence()), FRAMEWORK, settings=Settings(masked_every=0))


@pytest.mark.slow
@pytest.mark.parametrize("name", GUARDED)
def test_a_guarded_construct_never_alarms(name: str) -> None:
    for writer in poked(CONSTRUCTS[name]):
        result = judged(writer)
        assert (result.verdict, result.alarms) == ("agree", ())


@pytest.mark.slow
@pytest.mark.parametrize("name", BREAKING)
def test_a_construct_that_breaks_a_rule_is_documented(name: str) -> None:
    results = [judged(writer) for writer in poked(CONSTRUCTS[name])]
    assert not any(result.alarms for result in results)
    assert "documented" in {result.verdict for result in results}
    steps = [step for result in results for step in result.steps]
    notes = {step.note for step in steps if step.verdict == "documented"}
    assert all("https://docs.jax.dev/" in note for note in notes)


@pytest.mark.slow
@pytest.mark.skipif(jax.__version__ != "0.10.2", reason="faults of this version")
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_is_an_alarm_and_under_no_rule(name: str) -> None:
    action, value = FAULTS[name]
    writer = Writer(VOCABULARY, "identity", name).call()
    if name == "debug_nans_scope":
        writer.change(name, "visit_scope")
    writer.change(name, action, value).call()
    result = judged(writer)
    assert result.verdict == "stateful"
    assert result.alarms[0].identity.exposing == f"{name}.{action}"


def test_a_broken_rule_does_not_cover_a_fault_beside_it() -> None:
    """Tracing anew after changes of captured state leaves what a flag made stale."""
    writer = (
        Writer(VOCABULARY, "identity", "global_value", "custom_prng_flag")
        .call()
        .change("custom_prng_flag", "set_flag_to", 1)
        .call()
    )
    assert judged(writer).verdict == "stateful"


def test_a_change_that_jax_does_see_is_no_limitation() -> None:
    writer = (
        Writer(VOCABULARY, "identity", "closure_number")
        .call()
        .change("closure_number", "new_closure")
        .call()
    )
    assert judged(writer).verdict == "agree"


@pytest.mark.parametrize("name", ["python_random", "call_counter"])
def test_side_effects_of_tracing_ahead_are_those_of_a_trace(name: str) -> None:
    writer = Writer(VOCABULARY, "identity", name)
    writer.change("compiler", "ahead_of_time", 1).change("compiler", "clear_own", 0).call()
    assert judged(writer).verdict == "documented"


@pytest.mark.parametrize("number", ["9.0", "3.5"])
def test_compiled_code_rounds_bfloat16_where_the_program_does(number: str) -> None:
    """The product in bfloat16 is added in float32: XLA may leave its rounding out."""
    writer = Writer(VOCABULARY, "identity", "weak_type")
    for seed in range(8):
        writer.call(batch=3, number=number, value_seed=str(seed))
    assert judged(writer).verdict == "agree"
