"""Gradients of a create_graph backward, which a call shows as further outputs."""

from __future__ import annotations

from rondo.frameworks.registry import load_framework
from rondo.oracle.run import execute
from rondo.sequences.codec import encode
from rondo.sequences.step import CALL_CHOICES, Call, Options, Sequence, SubjectSpec


def test_strides_of_a_gradient_are_no_promise() -> None:
    framework = load_framework("torch")
    chosen = {"layout": "transposed", "backward": "create_graph", "inputs_grad": "yes"}
    operands = {name: CALL_CHOICES[name].index(choice) for name, choice in chosen.items()}
    call = Call(**operands, sizes=(0,))
    subject = SubjectSpec("identity", ("patched_forward",))
    data = encode(Sequence(subject, Options(backend=1), (call,)))
    result = execute(data, framework)
    assert result.verdict == "agree", [str(alarm.identity) for alarm in result.alarms]
    assert result.raised == 0
