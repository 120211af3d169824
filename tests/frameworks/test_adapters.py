"""What every adapter must keep, whatever its framework: the arms are what their names say.

One test per promise of `rondo.frameworks.base` and per rule of `docs/frameworks.md`. A new adapter
is under test as soon as its folder exists.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rondo.errors import MissingFrameworkError, UnknownFrameworkError
from rondo.frameworks import registry
from rondo.frameworks.base import Arm, Framework
from rondo.oracle.compare import Grade, compare
from rondo.oracle.documented import documented_rules
from rondo.oracle.observation import Observation
from rondo.oracle.run import Settings
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Change
from rondo.sequences.vocabulary import COMPILER, PROGRAM, SMALLEST, Vocabulary
from rondo.sequences.writer import Writer
from tests.frameworks._running import first_call, judged, opened, watched

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "rondo" / "frameworks" / "shared" / "architectures"
COMMON = frozenset(path.stem for path in SHARED.glob("[a-z]*.py"))
ADDRESS = re.compile(r"0x[0-9a-f]{4,}|\b\d{5,}\b")


def assert_equal(first: Observation, second: Observation) -> None:
    different = [m for m in compare(first, second, lambda: None) if m.grade > Grade.EQUAL]
    assert not different, different[:3]


def test_it_has_the_common_architectures_and_the_smallest(vocabulary: Vocabulary) -> None:
    names = {each.name for each in vocabulary.architectures}
    assert len(COMMON) == 25
    assert names >= COMMON


def test_it_has_twenty_constructs_and_the_ambient_targets(vocabulary: Vocabulary) -> None:
    assert len(vocabulary.constructs) >= 20
    assert {target.name for target in vocabulary.ambient} == {PROGRAM, COMPILER}
    for target in vocabulary.all_targets():
        assert target.doc, f"{target.name} is not described"
        assert all(action.doc for action in target.actions), f"a change of {target.name}"


def test_equal_seeds_build_equal_programs(framework: Framework, vocabulary: Vocabulary) -> None:
    writer = Writer(vocabulary, "mlp").call()
    seen = []
    for _ in range(2):
        with opened(framework, writer, Arm.EAGER) as (program, sequence):
            seen.append(program.call(first_call(sequence), compiled=False))
    assert_equal(*seen)


def test_the_compiled_arm_compiles_once_and_then_hits(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    writer = Writer(vocabulary, "mlp").program("eval").call()
    with opened(framework, writer, Arm.RETAINED) as (program, sequence):
        framework.reset()
        program.change(sequence.steps[0])  # type: ignore[arg-type]
        call = first_call(sequence)
        _, first = watched(framework, program, call)
        _, second = watched(framework, program, call)
    assert first.compiled
    assert first.compilations >= 1
    assert second.compiled
    assert second.compilations == 0


def test_after_a_reset_the_same_call_compiles_again(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    writer = Writer(vocabulary, "mlp").program("eval").call()
    with opened(framework, writer, Arm.RETAINED) as (program, sequence):
        call = first_call(sequence)
        framework.reset()
        program.change(sequence.steps[0])  # type: ignore[arg-type]
        before, first = watched(framework, program, call)
        framework.reset()
        after, again = watched(framework, program, call)
    assert again.compilations == first.compilations
    assert_outputs_equal(before, after)


def assert_outputs_equal(first: Observation, second: Observation) -> None:
    def outputs(seen: Observation) -> Observation:
        kept = {path: leaf for path, leaf in seen.leaves.items() if path.startswith("output")}
        assert kept
        return Observation(kept, seen.returned, seen.exception)

    assert_equal(outputs(first), outputs(second))


def test_a_reset_leaves_the_program_alone(framework: Framework, vocabulary: Vocabulary) -> None:
    writer = Writer(vocabulary, "resnet").call()
    with opened(framework, writer, Arm.EAGER) as (program, sequence):
        call = first_call(sequence)
        program.call(call, compiled=False)
        without = program.call(call, compiled=False)
    with opened(framework, writer, Arm.EAGER) as (program, sequence):
        program.call(call, compiled=False)
        framework.reset()
        with_reset = program.call(call, compiled=False)
    assert_equal(without, with_reset)


def test_the_eager_arm_compiles_nothing_of_the_subject(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    """After eager calls, a compiled one compiles as much as in a fresh process."""
    writer = Writer(vocabulary, "mlp").program("eval").call()
    with opened(framework, writer, Arm.RESET) as (program, sequence):
        program.change(sequence.steps[0])  # type: ignore[arg-type]
        call = first_call(sequence)
        _, first = watched(framework, program, call)
    with opened(framework, writer, Arm.RESET) as (program, sequence):
        program.change(sequence.steps[0])  # type: ignore[arg-type]
        for _ in range(3):
            program.call(call, compiled=False)
        _, after_eager = watched(framework, program, call)
    assert after_eager.compilations == first.compilations


@pytest.fixture
def seen_ambient(framework: Framework, vocabulary: Vocabulary) -> Iterator[None]:
    """Check that what an observation shows of global state is the same before and after."""

    def look() -> dict[str, str]:
        with opened(framework, Writer(vocabulary, SMALLEST).call(), Arm.EAGER) as (program, each):
            leaves = program.call(first_call(each), compiled=False).leaves
        return {path: leaf.text for path, leaf in leaves.items() if path.startswith("ambient")}

    before = look()
    assert before
    yield
    assert look() == before


@pytest.mark.usefixtures("seen_ambient")
def test_every_change_of_the_program_is_undone(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    target = vocabulary.targets_by_name[PROGRAM]
    writer = Writer(vocabulary, SMALLEST).call()
    with opened(framework, writer, Arm.EAGER) as (program, _):
        for number, action in enumerate(target.actions):
            for value in range(action.values):
                program.change(Change(PROGRAM, number, value))


@pytest.mark.usefixtures("seen_ambient")
@pytest.mark.parametrize("seed", range(3))
def test_random_sequences_run_and_leave_nothing_behind(
    framework: Framework, vocabulary: Vocabulary, seed: int
) -> None:
    small = vocabulary.restricted(architectures=frozenset({SMALLEST, "mlp"}))
    data = encode(decode(random.Random(seed).randbytes(160), small))
    from rondo.oracle.run import execute

    result = execute(data, framework, settings=Settings(masked_every=0), vocabulary=small)
    again = execute(data, framework, settings=Settings(masked_every=0), vocabulary=small)
    assert result.verdict == again.verdict
    assert result.behaviours == again.behaviours
    assert [step.eager for step in result.steps] == [step.eager for step in again.steps]


@pytest.mark.parametrize("operand", ["layout", "alias", "values", "dtype", "backward", "thread"])
def test_every_kind_of_call_runs_and_agrees(
    framework: Framework, vocabulary: Vocabulary, operand: str
) -> None:
    from rondo.sequences.step import CALL_CHOICES

    writer = Writer(vocabulary, "mlp").program("eval")
    for choice in CALL_CHOICES[operand]:
        writer.call(**{operand: choice})
    result = judged(framework, writer)
    assert result.verdict in ("agree", "uncertain"), result.alarms
    assert result.raised <= 1


def test_training_updates_the_parameters_in_every_arm(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    writer = Writer(vocabulary, "mlp").call(backward="once").program("sgd_step", 1).call()
    result = judged(framework, writer, Settings(always_reset=True))
    assert result.verdict == "agree", result.alarms
    with opened(framework, writer, Arm.EAGER) as (program, sequence):
        first = program.call(first_call(sequence), compiled=False)
        program.change(sequence.steps[1])  # type: ignore[arg-type]
        second = program.call(first_call(sequence), compiled=False)
    params = [path for path in first.leaves if path.startswith("param.")]
    assert params
    assert any(first.leaves[path].digest() != second.leaves[path].digest() for path in params)


FAULTY = {"paddle": {"bert", "gpt2", "encoder_decoder"}}
"""Paddle 3.3.1 raises InnerError there: bench/bugs/paddle/embedding_of_other_size."""


@pytest.mark.slow
def test_every_architecture_agrees_on_plain_calls(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    failed = {}
    for architecture in vocabulary.architectures:
        writer = Writer(vocabulary, architecture.name).call().program("eval").call(batch=3)
        result = judged(framework, writer)
        # The smallest architecture does nothing, and some compilers then compile nothing.
        sound = {"agree", "uncertain", *(["not compiled"] if architecture.name == SMALLEST else [])}
        if result.verdict not in sound or result.raised:
            failed[architecture.name] = (result.verdict, result.raised, result.alarms)
    assert set(failed) <= FAULTY.get(framework.name, set()), failed


def test_labels_hold_no_addresses_and_no_ids(framework: Framework, vocabulary: Vocabulary) -> None:
    writer = Writer(vocabulary, "mlp").call().call(batch=3).program("eval").call()
    labels = judged(framework, writer).behaviours.values()
    assert len(labels) > 4
    assert not [label for label in labels if ADDRESS.search(label)]


@pytest.mark.slow
def test_behaviours_are_equal_in_a_fresh_process(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    writer = Writer(vocabulary, "mlp").call().call(batch=3).program("eval").call()
    here = judged(framework, writer)
    program = (
        "import json, sys\n"
        "from rondo.frameworks.registry import load_framework\n"
        "from rondo.oracle.run import Settings, execute\n"
        f"framework = load_framework({framework.name!r})\n"
        "framework.warm()\n"
        f"result = execute(bytes.fromhex({encode(writer.sequence()).hex()!r}), framework,"
        " settings=Settings(masked_every=0))\n"
        "print('RESULT ' + json.dumps([result.verdict, sorted(result.behaviours.values())]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    verdict, labels = json.loads(line.removeprefix("RESULT "))
    assert verdict == here.verdict
    assert labels == sorted(here.behaviours.values())


def test_the_environment_names_the_version(framework: Framework) -> None:
    environment = framework.environment()
    assert framework.name in environment or framework.name in environment.get("framework", "")
    assert environment["python"] == sys.version.split()[0]


def test_the_compiler_s_source_is_there(framework: Framework) -> None:
    trees = [Path(tree) for tree in framework.source_trees()]
    assert trees
    assert all(tree.exists() for tree in trees)


def test_a_plain_result_is_under_no_documented_rule(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    writer = Writer(vocabulary, "mlp").call()
    with opened(framework, writer, Arm.EAGER) as (program, sequence):
        observation = program.call(first_call(sequence), compiled=False)
        assert framework.documented(sequence, observation) == ""


def test_every_documented_limitation_has_a_cause_and_a_link(framework: Framework) -> None:
    rules = documented_rules(framework)
    assert rules
    for rule in rules:
        assert rule.link.startswith("https://"), rule.kind
        assert rule.cause


def test_every_retained_layer_is_dropped_by_changes_that_exist(
    framework: Framework, vocabulary: Vocabulary
) -> None:
    actions = {each.name: each for each in vocabulary.targets_by_name[COMPILER].actions}
    layers = framework.layers()
    assert len({layer.name for layer in layers}) == len(layers)
    for layer in layers:
        assert layer.drop
        for name, value in layer.drop:
            assert value < actions[name].values
            assert not actions[name].carries, "the reset arm would make it too"


@pytest.mark.parametrize("name", sorted(registry.ADAPTERS))
def test_a_missing_package_is_one_line_that_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "is_installed", lambda _: False)
    registry.load_framework.cache_clear()
    with pytest.raises(MissingFrameworkError) as raised:
        registry.load_framework(name)
    text = str(raised.value)
    assert "\n" not in text
    assert f"pip install '{registry.requirement(name)}'" in text
    assert name in registry.requirement(name)


def test_an_unknown_framework_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownFrameworkError, match=r"jax, .*torch"):
        registry.load_framework("caffe")
