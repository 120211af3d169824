"""What sequences can reach: architectures agree, ambient steps run, docs/reach.md holds.

A step of compiler state is checked twice: that it runs and makes no false alarm, and that it does
what its name says, seen in torch's own state.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn

from rondo.frameworks.base import Arm
from rondo.frameworks.registry import load_framework
from rondo.frameworks.torch.changes import compiler
from rondo.frameworks.torch.changes.program import TAKES_ANY_RANK
from rondo.frameworks.torch.program import TorchProgram
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import CALL_CHOICES, Call, Change
from rondo.sequences.vocabulary import SMALLEST, ArchitectureSpec
from rondo.sequences.writer import Writer

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "bugs")]

import cases as known  # noqa: E402  (scripts of the bench, not packages)
import reach  # noqa: E402

FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()
ARCHITECTURES = list(VOCABULARY.architectures_by_name.values())
ALWAYS = Settings(always_reset=True)


def on(architecture: str, *constructs: str, **options: str) -> Writer:
    return Writer(VOCABULARY, architecture, *constructs, **options)


def judged(writer: Writer, settings: Settings | None = None) -> Result:
    return execute(encode(writer.sequence()), FRAMEWORK, settings=settings, vocabulary=VOCABULARY)


def other_sizes(architecture: ArchitectureSpec) -> dict[str, int]:
    """Return another size for each dimension than the usual one."""
    return {each.name: each.sizes[1] for each in architecture.schema.dimensions}


# ---------------------------------------------------------------------------------- architectures


SLOW_TO_TRACE = {"swin"}
"""Architectures that take 13 s to trace at sizes that are symbols, and 1 s at numbers."""


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda each: each.name)
def test_an_architecture_agrees_in_training_and_evaluation_at_two_sizes(
    architecture: ArchitectureSpec, backend: str
) -> None:
    dynamic = "false" if architecture.name in SLOW_TO_TRACE else "auto"
    writer = (
        on(architecture.name, backend=backend, dynamic=dynamic)
        .call(backward="once", inputs_grad="yes")
        .program("eval")
        .call(grad="no_grad", **other_sizes(architecture))
    )
    result = judged(writer, Settings(masked_every=0))
    verdict = "not compiled" if architecture.name == SMALLEST else "agree"
    assert (result.verdict, result.raised) == (verdict, 0), result.alarms


@pytest.fixture(scope="module")
def _kernels_kept() -> None:
    FRAMEWORK.warm()


@pytest.mark.slow
@pytest.mark.usefixtures("_kernels_kept")
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda each: each.name)
def test_an_architecture_agrees_on_inductor(architecture: ArchitectureSpec) -> None:
    writer = on(architecture.name, backend="inductor").program("eval").call(grad="no_grad")
    result = judged(writer, Settings(masked_every=0))
    verdict = "not compiled" if architecture.name == SMALLEST else "agree"
    assert (result.verdict, result.raised) == (verdict, 0), result.alarms


# ---------------------------------------------------------------------------- steps of the compiler

STEPS = [
    (target.name, action.name, value)
    for target in VOCABULARY.ambient
    for action in target.actions
    for value in range(action.values)
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_every_step_of_compiler_state_runs_and_makes_no_false_alarm(backend: str) -> None:
    for target, action, value in STEPS:
        if target != compiler.COMPILER.name:
            continue
        writer = (
            on("identity", "float_attribute", backend=backend, cache="disk")
            .call(batch=2)
            .change(target, action, value)
            .call(batch=3)
            .call(batch=2)
        )
        with_change = writer.sequence()
        result = judged(writer, ALWAYS)
        assert result.verdict in ("agree", "documented"), (with_change.steps[1], result.alarms)
        if (action, value) != ("stance", compiler.STANCES.index("fail_on_recompile")):
            assert result.verdict == "agree", (action, value)


@contextmanager
def running(writer: Writer) -> Iterator[TorchProgram]:
    """Yield the retained arm's program over what `writer` says; its steps are left to the test."""
    sequence = writer.sequence()
    with FRAMEWORK.session(sequence), FRAMEWORK.arm(sequence, Arm.RETAINED) as program:
        assert isinstance(program, TorchProgram)
        yield program


def step(action: str, value: int = 0) -> Change:
    names = [each.spec.name for each in compiler.COMPILER.actions]
    return Change(compiler.COMPILER.name, names.index(action), value)


def frames() -> int:
    return int(torch._dynamo.utils.counters["frames"]["ok"])


CALL = Call(sizes=(0,))


@pytest.mark.parametrize(
    ("action", "value", "again"),
    [
        ("reset_code", 0, 1),
        ("reset_memory", 0, 1),
        ("backend", 0, 1),
        ("wrap_again", 0, 0),
        ("forget_sizes", 0, 0),
        ("collect_garbage", 0, 0),
        ("clear_fake_cache", 0, 0),
        ("drop_disk_cache", 0, 0),
        ("reload_artifacts", 0, 1),
    ],
)
def test_a_step_has_the_same_call_compiled_again_or_not(
    action: str, value: int, again: int
) -> None:
    with running(on("identity", "float_attribute", cache="disk")) as program:
        program.call(CALL, compiled=True)
        before = frames()
        assert program.change(step(action, value)) is None
        program.call(CALL, compiled=True)
        assert frames() - before == again


def test_another_back_end_is_used_until_the_own_one_is_back() -> None:
    with running(on("identity", "float_attribute", backend="inductor")) as program:
        seen = []
        for value in (0, 0, 1):
            program.change(step("backend", value))
            seen.append(program.settings.backend)
    assert seen == ["aot_eager", "aot_eager", "inductor"]


def test_configuration_holds_inside_compiled_calls_only() -> None:
    values: list[bool] = []

    class Probe(nn.Module):
        def forward(self, *inputs: object) -> None:
            values.append(torch._dynamo.config.specialize_float)

    name = compiler.CONFIGURED.index(("dynamo.specialize_float", True))
    with running(on("identity", "number_input")) as program:
        program.change(step("configure", name))
        wrapped = compiler.varied(program).compile(torch.compiler.disable(Probe()))
        wrapped()
        Probe()()
        program.change(step("configure", len(compiler.CONFIGURED)))
        wrapped()
    assert values == [True, False, False]


def test_settings_that_are_varied_keep_what_was_set_before() -> None:
    with running(on("identity", dynamic="true", fullgraph="yes")) as program:
        program.change(step("mark_next_inputs", 0))
        settings = compiler.varied(program)
        assert (settings.dynamic, settings.fullgraph, len(settings.marks)) == (True, True, 1)
        assert compiler.varied(program) is settings


def test_sizes_are_forgotten() -> None:
    from torch._dynamo import pgo

    with running(on("identity", "float_attribute")) as program:
        for size in (0, 1):
            program.call(Call(sizes=(size,)), compiled=True)
        assert pgo.get_code_state()
        program.change(step("forget_sizes"))
        assert not pgo.get_code_state()


MARKED = {0: "_dynamo_weak_dynamic_indices", 1: "_dynamo_static_indices"} | {
    2: "_dynamo_dynamic_indices",
    3: "_dynamo_dynamic_indices",
    4: "_dynamo_unbacked_indices",
}


@pytest.mark.parametrize("value", range(len(compiler.MARKS)))
def test_a_mark_is_on_the_next_inputs_and_on_no_others(value: int) -> None:
    tensors = [torch.ones(2, 3), torch.ones(2, 3)]
    with running(on("identity")) as program:
        program.change(step("mark_next_inputs", value))
        (mark,) = program.settings.marks
        mark(tensors[0])
        mark(torch.ones(()))
    assert [hasattr(tensor, MARKED[value]) for tensor in tensors] == [True, False]


def test_a_bounded_mark_is_left_out_where_the_size_breaks_it() -> None:
    tensor = torch.ones(1, 3)
    compiler.mark_within_bounds(tensor, 0)
    assert not hasattr(tensor, "_dynamo_dynamic_indices")


def test_a_mark_that_the_program_does_not_allow_is_documented() -> None:
    writer = on("identity", "equal_sizes").compiler("mark_next_inputs", 2).call(batch=4)
    result = judged(writer)
    assert (result.verdict, result.alarms) == ("documented", ())
    assert "mark_dynamic" in result.steps[1].note


def test_failing_on_recompile_is_documented_and_the_stance_ends_with_the_sequence() -> None:
    stance = compiler.STANCES.index("fail_on_recompile")
    writer = on("identity", "float_attribute").call().compiler("stance", stance).call(batch=3)
    result = judged(writer)
    assert (result.verdict, result.alarms) == ("documented", ())
    assert judged(on("identity", "float_attribute").call().call(batch=3)).verdict == "agree"


def test_artifacts_of_another_sequence_are_not_saved() -> None:
    from torch.compiler._cache import CacheArtifactManager

    judged(on("identity", "float_attribute", backend="aot_eager", cache="disk").call())
    assert not CacheArtifactManager.need_serialize()


# ------------------------------------------------------------------------- a call that must raise


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda each: each.name)
def test_a_failing_call_raises_and_leaves_no_trace(
    architecture: ArchitectureSpec, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise Dynamo, which traces before it runs, would leave another state than eager."""
    raised: list[BaseException] = []
    number = [action.name for action in VOCABULARY.targets_by_name["program"].actions].index(
        "failing_call"
    )
    sequence = on(architecture.name).sequence()
    with FRAMEWORK.session(sequence), FRAMEWORK.arm(sequence, Arm.EAGER) as program:
        assert isinstance(program, TorchProgram)
        program.call(Call(sizes=(0,) * len(architecture.schema.dimensions)), compiled=False)
        before = program.state_leaves()

        def target(*, compiled: bool) -> object:
            def call(*arguments: object) -> None:
                try:
                    program.module(*arguments)
                except Exception as error:
                    raised.append(error)
                    raise

            return call

        monkeypatch.setattr(program, "target", target)
        assert program.change(Change("program", number, value)) is None
        after = program.state_leaves()
    assert len(raised) == 1
    assert {path: repr(leaf) for path, leaf in after.items()} == {
        path: repr(leaf) for path, leaf in before.items()
    }


def test_the_exceptions_to_a_wrong_rank_are_architectures() -> None:
    assert TAKES_ANY_RANK - {"user"} <= VOCABULARY.architectures_by_name.keys()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_calls_around_a_failing_one_agree(backend: str) -> None:
    writer = on("mlp", "global_counter", backend=backend).program("eval")
    for value in (0, 1):
        writer.program("failing_call", value).call().call(batch=3)
    result = judged(writer, ALWAYS)
    assert (result.verdict, result.raised) == ("agree", 0), result.alarms


# ---------------------------------------------------------------------------------- documentation

TEXT = (ROOT / "docs" / "reach.md").read_text()
NAMED = re.compile(r"`([a-z0-9_]+)(?:\.([a-z0-9_]+))?(?:\(([^`]*)\))?`")


def rows(title: str) -> list[list[str]]:
    """Return the cells of the table in the section of this title, without its head."""
    section = TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


KINDS = {
    "py-object guard",
    "py-object guard (identity)",
    "module guard",
    "alias guard",
    "ambient mode",
    "dynamic specialisation",
    "compile-cache key (floats)",
    "compile-cache key (re-registration)",
    "baked trace-time state",
    "backward artefact",
    "subclass metadata",
    "leaked process state",
    "run mode / limit",
    "cudagraph memory",
}


def test_the_table_of_kinds_is_complete_and_names_what_exists() -> None:
    table = rows("Kinds")
    assert {row[0] for row in table} == KINDS
    targets = VOCABULARY.targets_by_name
    for row in table:
        found = NAMED.findall(row[2])
        assert found or row[0] == "cudagraph memory", row[0]
        for target, action, operands in found:
            if target == "call":
                for operand in operands.split(", "):
                    name, _, choice = operand.partition("=")
                    dimensions = {d.name for a in ARCHITECTURES for d in a.schema.dimensions}
                    assert name in dimensions or not choice or choice in CALL_CHOICES[name], operand
                    assert name in dimensions or name in CALL_CHOICES, operand
                continue
            assert target in targets, f"{row[0]}: there is no {target}"
            actions = {each.name for each in targets[target].actions}
            assert not action or action in actions, f"{target} has no {action}"


def test_the_table_of_constructs_holds_every_construct_under_its_kind() -> None:
    listed = {row[0]: row[2] for row in rows("Kinds")}
    for construct in VOCABULARY.constructs:
        kinds = [kind for kind in listed if kind.startswith(construct.kind)]
        assert kinds, construct.kind
        assert any(f"`{construct.name}" in listed[kind] for kind in kinds), construct.name


def test_the_table_of_cases_says_what_the_cases_say() -> None:
    table = {row[0].strip("`"): row for row in rows("Cases")}
    assert table.keys() == {case.name for case in known.CASES}
    for case in known.CASES:
        row = table[case.name]
        assert row[1] == case.kind
        assert tuple(row[3:6]) == case.verdicts
        steps = [s for s in case.sequence(VOCABULARY, "eager").steps if isinstance(s, Change)]
        for change in steps:
            action = VOCABULARY.targets_by_name[change.target].actions[change.action]
            assert f"`{change.target}.{action.name}`" in row[2], case.name
        for construct in case.sequence(VOCABULARY, "eager").subject.constructs:
            assert f"`{construct}" in row[2], case.name


# ------------------------------------------------------------------------------------------ bench


def test_the_bench_counts_what_it_runs() -> None:
    reached = reach.measure(FRAMEWORK, wanted=20, seed=5, seconds=60.0)
    assert reached.sequences == 20
    assert reached.calls >= reached.returned > 0
    assert reached.share == reached.returned / reached.calls
    assert reached.names < set(reach.everything(VOCABULARY))
    assert {"mlp", "list_alias", "list_alias.set_shift", "call(thread=other)"} <= set(
        reach.everything(VOCABULARY)
    )
