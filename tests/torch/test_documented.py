"""Documented limitations: counted as such where their cause is there, and nowhere else."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest
import torch
from click.testing import CliRunner

from rondo.commands import documented as documented_command
from rondo.frameworks.base import Ablation
from rondo.frameworks.registry import load_framework
from rondo.frameworks.torch.documented import ABLATIONS, RULES, documented_rule
from rondo.oracle.documented import Limitation, documented_rules
from rondo.oracle.observation import Observation
from rondo.oracle.run import ArmTrace, Run, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Change, Options, Sequence, Step, SubjectSpec, normalise

FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()


def change(target: str, action: str, value: int = 0) -> Change:
    names = [each.name for each in VOCABULARY.targets_by_name[target].actions]
    return Change(target, names.index(action), value)


@dataclass(frozen=True)
class Case:
    kind: str
    steps: tuple[Step, ...]
    constructs: tuple[str, ...] = ()
    architecture: str = "identity"
    fullgraph: int = 0
    cache: int = 0
    backend: int = 0


CASES = (
    Case("fullgraph=True", (Call(sizes=(0,)),), ("graph_break",), fullgraph=1),
    Case(
        "stance fail_on_recompile",
        (Call(), change("compiler", "stance", 3), Call(dtype=1)),
        ("float_attribute",),
    ),
    Case(
        "hooks added", (Call(), change("program", "body_forward_hook"), Call()), architecture="mlp"
    ),
    # Guarded, the hook asks for a compilation more than fullgraph=True grants.
    Case(
        "hooks added",
        (
            change("compiler", "recompile_limit"),
            Call(),
            change("program", "body_forward_hook"),
            Call(),
        ),
        architecture="mlp",
        fullgraph=1,
    ),
    # A disk cache might be to blame for a violated bound; what is compiled anew raises as well.
    Case(
        "mark_dynamic raises",
        (change("compiler", "mark_next_inputs", 3), Call()),
        ("set_content",),
        cache=1,
    ),
    Case(
        "a compiled backward computes under the autocast",
        (change("autocast_object", "set_enabled"), Call(autocast=2, backward=1)),
        ("autocast_object",),
        backend=1,
    ),
)


def sequence_of(case: Case) -> Sequence:
    options = Options(case.backend, fullgraph=case.fullgraph, cache=case.cache)
    return normalise(
        Sequence(SubjectSpec(case.architecture, case.constructs), options, case.steps), VOCABULARY
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_a_limitation_is_counted_and_named(case: Case) -> None:
    result = execute(encode(sequence_of(case)), FRAMEWORK, vocabulary=VOCABULARY)
    assert (result.verdict, result.alarms) == ("documented", ())
    notes = [step.note for step in result.steps if step.verdict == "documented"]
    assert notes
    assert all(note.startswith(case.kind) for note in notes)


FREEZE = change("compiler", "configure", 6)
TRIED = {
    "nothing that a setting could lift": ("eager", (), 0),
    "hooks of AOTAutograd's own": ("aot_eager", (), 0),
    "freezing": ("eager", (FREEZE,), 1),
    "a hook": ("eager", (change("program", "body_forward_hook"),), 1),
    "a backward after autocast": ("eager", (Call(autocast=1, backward=1),), 1),
}


@pytest.mark.parametrize(("backend", "more", "runs"), TRIED.values(), ids=TRIED)
def test_a_setting_is_tried_only_where_it_can_make_a_difference(
    backend: str, more: tuple[Step, ...], runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial is one more run of the compiled arm, up to the call in question."""
    ends: list[int | None] = []

    def retained(run: Run, *, through: int | None = None) -> ArmTrace:
        ends.append(through)
        return plain(run, through=through)

    plain = Run.retained
    monkeypatch.setattr(Run, "retained", retained)
    call = Call(backward=2, inputs_grad=1)
    steps = (*more, call, change("builtin_name", "shadow_abs"), call, Call(sizes=(1,)))
    subject = SubjectSpec("identity", ("builtin_name",))
    options = Options(backend=VOCABULARY.backends.index(backend))
    sequence = normalise(Sequence(subject, options, steps), VOCABULARY)
    (alarm, *_) = execute(encode(sequence), FRAMEWORK, vocabulary=VOCABULARY).alarms
    assert alarm.identity.verdict == "stateful"
    assert alarm.step < len(sequence.steps) - 1
    assert ends[:2] == [None, alarm.step][: 1 + runs]
    assert len(ends) == 1 or runs


def test_the_same_words_without_the_cause_are_no_limitation() -> None:
    plain = sequence_of(Case("", (Call(),)))
    refused = Observation({}, False, "Unsupported", "call: graph break")
    assert documented_rule(plain, refused) == ""
    asked = sequence_of(Case("", (Call(),), fullgraph=1))
    assert documented_rule(asked, refused).startswith("fullgraph=True")
    stance = Observation({}, False, "RuntimeError", "call: fail_on_recompile")
    assert documented_rule(plain, stance) == ""
    assert documented_rule(plain, Observation({}, False, "RuntimeError", "call: other")) == ""


def test_a_second_gradient_that_a_users_subject_asks_for_is_refused_by_design() -> None:
    """No call of ours asks for it where AOTAutograd compiles."""
    weight = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda: (weight**3).sum(), backend="aot_eager")
    (first,) = torch.autograd.grad(compiled(), [weight], create_graph=True)
    with pytest.raises(RuntimeError) as refused:
        first.sum().backward()
    observation = Observation({}, False, "RuntimeError", f"backward: {refused.value}")
    said = documented_rule(sequence_of(Case("", (Call(),))), observation)
    assert said.startswith("AOTAutograd: a compiled backward cannot be differentiated again")


def test_the_table_lists_every_rule_with_its_link() -> None:
    rules = documented_rules(FRAMEWORK)
    assert len(rules) == len(RULES) + len(ABLATIONS)
    for rule in rules:
        assert rule.kind
        assert rule.cause
        assert re.match(r"https://\S+", rule.link), rule


def test_a_rule_without_a_message_or_link_is_shown_as_it_is() -> None:
    class Silent:
        def refusals(self) -> tuple[object, ...]:
            return (RULES[0],)

        def ablations(self) -> tuple[object, ...]:
            rules = ("goes away (https://a.b/c_(d))", "no link")
            return tuple(Ablation(rule, nullcontext) for rule in rules)

    first, second, third = documented_rules(Silent())  # type: ignore[arg-type]
    assert first.cause == "raises FailOnRecompileLimitHit or Unsupported or UserError"
    assert second == Limitation("goes away", second.cause, "https://a.b/c_(d)")
    assert third.link == ""


def test_the_command_lists_them() -> None:
    shown = CliRunner().invoke(documented_command.command, []).output
    count = len(documented_rules(FRAMEWORK))
    assert shown.splitlines()[-1] == f"{count} documented limitations of torch"
    found = json.loads(CliRunner().invoke(documented_command.command, ["--json"]).output)
    assert len(found["limitations"]) == len(documented_rules(FRAMEWORK))


def test_a_kernel_that_is_missing_is_known_by_its_message() -> None:
    with pytest.raises(NotImplementedError) as raised:
        torch.geqrf(torch.eye(3).bfloat16())
    said = Observation({}, returned=False, exception="X", message=str(raised.value))
    assert FRAMEWORK.cannot(said).startswith("eager has no kernel")
    assert FRAMEWORK.cannot(replace(said, message="shapes do not match")) == ""
