"""Gradients of a create_graph backward, which a call shows as further outputs."""

from __future__ import annotations

import pytest

from rondo.frameworks.base import Framework
from rondo.frameworks.registry import load_framework
from rondo.oracle.observation import Leaf
from rondo.oracle.run import Run, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import CALL_CHOICES, Call, Change, Options, Sequence, SubjectSpec
from rondo.sequences.vocabulary import COMPILER

CHOSEN = {"layout": "transposed", "backward": "create_graph", "inputs_grad": "yes"}
CALL = Call(
    **{name: CALL_CHOICES[name].index(choice) for name, choice in CHOSEN.items()}, sizes=(0,)
)


@pytest.fixture
def torch_framework() -> Framework:
    return load_framework("torch")


def test_strides_of_a_gradient_are_no_promise(torch_framework: Framework) -> None:
    subject = SubjectSpec("identity", ("patched_forward",))
    result = execute(encode(Sequence(subject, Options(backend=1), (CALL,))), torch_framework)
    assert result.verdict == "agree", [str(alarm.identity) for alarm in result.alarms]
    assert result.raised == 0


@pytest.mark.parametrize(
    ("backend", "changed", "outputs"), [(0, False, 3), (0, True, 2), (1, False, 2)]
)
def test_second_gradients_are_asked_of_dynamo_alone(
    torch_framework: Framework, backend: int, changed: bool, outputs: int
) -> None:
    """Whatever back end a step compiles with later: AOTAutograd's backward has no second one."""
    actions = torch_framework.vocabulary().targets_by_name[COMPILER].actions
    number = next(n for n, action in enumerate(actions) if action.name == "backend")
    steps = (Change(COMPILER, number, 0), CALL) if changed else (CALL,)
    sequence = Sequence(SubjectSpec("mlp"), Options(backend=backend), steps)
    result = execute(encode(sequence), torch_framework)
    assert result.verdict == "agree", [str(alarm.identity) for alarm in result.alarms]
    with torch_framework.session(sequence):
        shown = Run(sequence, torch_framework, torch_framework.vocabulary()).eager()
    observation = shown.observations[-1]
    assert observation is not None
    leaves: dict[str, Leaf] = dict(observation.leaves)
    assert str(outputs) in str(leaves["output.len"])
