"""Scripts say what sequences say: for every construct, every change, every plan, call and layout.

Scripts run here in this process with `torch.compile` giving back its model, so that what is tested
is the program that a script spells out. That exported scripts show bugs is tested in
`test_export_files.py`, in processes of their own.
"""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest
import torch

from rondo.frameworks.base import Arm, ScriptRequest
from rondo.frameworks.registry import load_framework
from rondo.frameworks.shared.script_zeros import differ_in_sign_of_zeros
from rondo.frameworks.torch.script import PLANS, Plan, ScriptWriter
from rondo.frameworks.torch.script_observe import UnwritableError
from rondo.frameworks.torch.script_verdict import AGREES
from rondo.oracle.result import Alarm, Difference, Identity
from rondo.sequences.step import CALL_CHOICES, Call, Change, Sequence
from rondo.sequences.vocabulary import COMPILER, PROGRAM
from rondo.sequences.writer import Writer

FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()
CONSTRUCTS = [each.name for each in VOCABULARY.constructs]
ARCHITECTURES = [each.name for each in VOCABULARY.architectures]
EXACT = Plan("runs", exact=True)
WRITTEN = (PLANS[0], PLANS[1], next(plan for plan in PLANS if plan.whole))
"""The plans that differ most: side by side, a run each, and the subject as Rondo builds it."""
ELSEWHERE = {
    "custom_operator": "registers an operator, which can be done once in a process",
    "default_device": "its outputs are on a device without values",
}


def alarm_at(step: int, path: str = "output[0]", effect: str = "value", **texts: str) -> Alarm:
    """An alarm that says that `path` differs at `step`."""
    seen = {"eager": "float32[2, 4] [1]", "retained": "float32[2, 4] [2]", "reset": "float32[2, 4]"}
    identity = Identity("stateful", effect, "eager", "output", "a change")
    return Alarm(step, identity, (Difference(path, effect, **{**seen, **texts}),))


def script_of(sequence: Sequence, plan: Plan, alarm: Alarm | None = None, **request: Any) -> str:
    """Return the script of the last call of `sequence`."""
    last = len(sequence.steps) - 1
    asked = ScriptRequest(sequence, alarm or alarm_at(last), title="A title.", **request)
    adapter: Any = FRAMEWORK
    return ScriptWriter(asked, plan, adapter.architectures, adapter.constructs, VOCABULARY).write()


def outcome(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Any]]:
    """Run a script with the compiler off; return its line and its names."""
    monkeypatch.setattr(torch, "compile", lambda model, **options: model)
    module = type(sys)("__main__")
    namespace = vars(module)
    # Without processes: what a run leaves on classes is the next one's business.
    text = re.sub(r"(?ms)^def apart\(arm\):.*?\n(?=\S)", "apart = run\n", text)
    monkeypatch.setitem(sys.modules, "__main__", module)
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit):
        exec(compile(text, "<script>", "exec"), namespace)
    return printed.getvalue().strip(), namespace


@pytest.fixture(autouse=True)
def globals_put_back() -> Iterator[None]:
    with FRAMEWORK.session(Writer(VOCABULARY, "identity").call().sequence()):
        yield


def with_each_change(name: str) -> Iterator[tuple[Sequence, str]]:
    """Yield call, change, call for every change of a construct and every operand."""
    target = VOCABULARY.targets_by_name[name]
    for action in target.actions:
        for value in {0, action.values - 1}:
            writer = Writer(VOCABULARY, "identity", name, backend="eager")
            yield writer.call().change(name, action.name, value).call().sequence(), action.name


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_every_change_is_written_by_every_plan(name: str) -> None:
    for sequence, action in with_each_change(name):
        for plan in WRITTEN:
            text = script_of(sequence, plan)
            tree = ast.parse(text)
            modules = {
                node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            } | {
                alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.Import)
                for alias in node.names
            }
            assert not [each for each in modules if each.startswith("rondo")], (action, modules)
            assert "CONSTRUCT" not in text


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTS) - set(ELSEWHERE)))
def test_a_script_computes_what_rondo_computes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for sequence, action in with_each_change(name):
        with FRAMEWORK.session(sequence):
            with FRAMEWORK.arm(sequence, Arm.EAGER) as program:
                observations = [
                    program.call(step, compiled=False)
                    if isinstance(step, Call)
                    else program.change(step)
                    for step in sequence.steps
                ]
            last = observations[-1]
            if last is None or not last.returned or not observations[0].returned:  # type: ignore[union-attr]
                continue
            line, names = outcome(script_of(sequence, EXACT), monkeypatch)
        assert line.startswith(("ok: ", "BUG: ")), (action, line)
        expected = last.leaves["output[0]"].values
        assert expected is not None
        np.testing.assert_array_equal(names["expected"].double().numpy(), expected, str(action))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_architecture_is_written_with_its_helpers(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(VOCABULARY, name, "float_attribute", backend="eager").program("eval")
    sequence = writer.call(grad="no_grad").call(grad="no_grad").sequence()
    line, names = outcome(script_of(sequence, EXACT), monkeypatch)
    assert re.search(AGREES, line), line
    assert torch.isfinite(names["expected"]).all()


def test_a_constructs_trimmed_script_is_short() -> None:
    lengths = [
        script_of(sequence, PLANS[0]).count("\n")
        for name in CONSTRUCTS
        for sequence, _ in with_each_change(name)
    ]
    assert np.median(lengths) <= 40
    assert sum(length <= 60 for length in lengths) / len(lengths) >= 0.9


CALLS = [
    {operand: choice}
    for operand, choices in CALL_CHOICES.items()
    for choice in choices[1:]
    if not (operand == "dtype" and choice == "float16")
] + [
    {"inputs_grad": "yes", "backward": "create_graph"},
    {"inputs_grad": "yes", "backward": "twice"},
    {"inputs_grad": "yes", "alias": "overlap"},
    {"thread": "other", "grad": "no_grad"},
]


@pytest.mark.parametrize("operands", CALLS, ids=str)
def test_calls_are_given_what_rondo_gives_them(
    operands: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(VOCABULARY, "identity", "input_alias", "number_input", backend="eager")
    sequence = writer.call(**operands).call(batch=3, **operands).sequence()
    with FRAMEWORK.arm(sequence, Arm.EAGER) as program:
        seen = [program.call(step, compiled=False) for step in sequence.steps]  # type: ignore[arg-type]
    if not seen[-1].returned:
        with pytest.raises((RuntimeError, AssertionError)):
            outcome(script_of(sequence, EXACT), monkeypatch)
        return
    line, names = outcome(script_of(sequence, EXACT), monkeypatch)
    assert re.search(AGREES, line), line
    expected = seen[-1].leaves["output[0]"].values
    assert expected is not None
    np.testing.assert_array_equal(names["expected"].double().numpy(), expected)


def test_a_thread_of_a_script_compiles_under_its_settings() -> None:
    """Dropout draws other numbers than eager's where `fallback_random` is not seen."""
    there = "submit(contextvars.copy_context().run, f, "
    for backend, wanted in (("inductor", True), ("eager", False)):
        writer = Writer(VOCABULARY, "mlp", backend=backend).call(thread="other").call()
        text = script_of(writer.sequence(), EXACT)
        assert (re.search(re.escape(there).replace("f,", r"\w+,"), text) is not None) is wanted
        assert ("import contextvars" in text) is wanted


PATHS = {
    "output[1]": ("value", "input_alias", "float32[4] [1]"),
    "output[2]": ("fact", "list_alias", "int 2"),
    "input.first.len": ("fact", "list_alias", "2"),
    "input.first": ("value", "input_alias", "float32[4] [1]"),
    "grad.tail.0.mix.weight": ("value", "backward_hook", "float32[4, 4] [1]"),
    "param.tail.0.first": ("value", "tied_parameters", "float32[4] [1]"),
    "buffer.tail.0.count": ("value", "item_scalar", "float32[] [1]"),
    "state.random_object.source": ("fact", "random_object", "str 1"),
    "rng.python": ("fact", "python_random", "1"),
    "ambient.grad_mode": ("fact", "float_attribute", "True"),
    "earlier[-1][0]": ("value", "float_attribute", "float32[2, 4] [1]"),
}


@pytest.mark.parametrize("path", PATHS)
def test_what_differs_is_looked_at(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    effect, construct, text = PATHS[path]
    writer = Writer(VOCABULARY, "identity", construct, backend="eager")
    kind = "once" if path.startswith("grad") else "none"
    sequence = writer.call(backward=kind).call(backward=kind).sequence()
    alarm = alarm_at(1, path, effect, eager=text, retained=text)
    line, _ = outcome(script_of(sequence, Plan("runs"), alarm), monkeypatch)
    assert re.search(AGREES, line), line


@pytest.mark.parametrize(
    ("effect", "eager", "retained"),
    [
        ("dtype", "float32[2, 4] [1]", "bfloat16[2, 4] [1]"),
        ("shape", "float32[2, 4] [1]", "float32[2] [1]"),
        ("metadata", "requires_grad=True, strides=dense", "requires_grad=False, strides=dense"),
        ("metadata", "aliases=input.x, type=Tensor", "aliases=, type=Tensor"),
        ("exception", "returns", "RuntimeError: no"),
        ("value", "float32[2] [-0, 1, ...]", "float32[2] [0, 1, ...]"),
    ],
)
def test_every_effect_is_looked_at(
    effect: str, eager: str, retained: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(VOCABULARY, "identity", "float_attribute", backend="eager")
    sequence = writer.call().call().sequence()
    alarm = alarm_at(1, effect=effect, eager=eager, retained=retained, reset=eager)
    line, _ = outcome(script_of(sequence, Plan("runs"), alarm), monkeypatch)
    assert re.search(AGREES, line), line


@pytest.mark.parametrize(
    ("eager", "retained", "expected"),
    [
        ("float32[2] [-0, 1, ...]", "float32[2] [0, 1, ...]", True),
        ("float32[2] [-0, 1, ...]", "float32[2] [0, 2, ...]", False),
        ("float32[2] [1e-08, 1, ...]", "float32[2] [0, 1, ...]", False),
        ("float32[2] [0, 1, ...]", "float32[2] [0, 1, ...]", False),
        ("python float[] [-0]", "python float[] [0]", True),
        ("float32[1] [nan]", "float32[1] [0]", False),
        ("float32[9] [0, -0.961033...", "float32[9] [-0, -0.961033...", True),
    ],
)
def test_zeros_of_other_signs_are_told_by_their_signs(
    eager: str, retained: str, expected: bool
) -> None:
    difference = Difference("output[0]", "value", eager, retained, eager)
    assert differ_in_sign_of_zeros(difference) is expected


def test_program_and_compiler_changes_are_written_or_refused() -> None:
    refused = set()
    for target in (PROGRAM, COMPILER):
        for number, action in enumerate(VOCABULARY.targets_by_name[target].actions):
            for value in range(action.values):
                steps = (Call(sizes=(0,)), Change(target, number, value), Call(sizes=(0,)))
                sequence = Writer(VOCABULARY, "mlp", "float_attribute").sequence()
                try:
                    ast.parse(script_of(sequence.with_steps(steps), EXACT))
                except UnwritableError:
                    refused.add(action.name)
    assert refused == set()


def test_what_a_script_cannot_say_is_refused_and_not_guessed() -> None:
    sequence = Writer(VOCABULARY, "identity", "float_attribute").call().call().sequence()
    for path in ("output.len", "earlier[-9]", "state.nowhere.key", "param.nowhere", "rng.other"):
        with pytest.raises(UnwritableError):
            script_of(sequence, Plan("runs"), alarm_at(1, path))


def test_names_that_two_files_share_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(VOCABULARY, "identity", "global_value", "inner_compile", backend="eager")
    sequence = writer.call().change("inner_compile", "set_gain", 0).call().sequence()
    text = script_of(sequence, EXACT)
    assert re.search(r"^gain = ", text, re.M)
    assert re.search(r"^gain_ = ", text, re.M)
    line, _ = outcome(text, monkeypatch)
    assert line.startswith("ok: ")


def test_a_mode_is_looked_at_after_a_call_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(VOCABULARY, "identity", "raised_midway", backend="eager")
    sequence = writer.change("raised_midway", "set_position", 0).call().sequence()
    alarm = alarm_at(1, "ambient.autocast_nesting", "fact", eager="0", retained="1", reset="0")
    plan = Plan("runs", raising=True)
    line, _ = outcome(script_of(sequence, plan, alarm), monkeypatch)
    assert line.startswith("ok: eager (1, 0), retained (1, 0)")
    assert re.search(AGREES, line), line
    with pytest.raises(UnwritableError):
        script_of(sequence, plan, alarm_at(1))
