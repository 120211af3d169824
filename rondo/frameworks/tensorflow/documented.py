"""What tf.function does by design: real differences that its documentation announces.

A rule is matched on cause, never on a subject's name. Refusals are matched on what was raised,
together with the option that asks for it. That a trace keeps the Python values it read is matched
by doing what the guide asks for: tracing again when Python state has changed (`pictures`). A
difference that goes away then is this rule; one that stays, or that Python state has no part in, is
a fault: equal-comparing arguments of other types, traces of another mode, a first trace that
failed, TensorFlow's own configuration missing from the key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rondo.frameworks.base import Ablation, always
from rondo.frameworks.tensorflow.changes.compiler import COMPILER
from rondo.frameworks.tensorflow.pictures import Trigger, tracing_again
from rondo.oracle.observation import Observation
from rondo.sequences.step import Change, Sequence

GUIDE = "https://www.tensorflow.org/guide/function"
XLA_ISSUES = "https://openxla.org/xla/tf2xla/known_issues"

XLA_BACKEND = 1
"""The place of `xla` among the back ends."""


def _has_change(sequence: Sequence, action: str) -> bool:
    number = [each.spec.name for each in COMPILER.actions].index(action)
    return any(
        isinstance(step, Change) and step.target == COMPILER.name and step.action == number
        for step in sequence.steps
    )


def _uses_xla(sequence: Sequence) -> bool:
    return sequence.options.backend == XLA_BACKEND or _has_change(sequence, "jit_compile")


def _without_autograph(sequence: Sequence) -> bool:
    return _has_change(sequence, "autograph")


@dataclass(frozen=True, slots=True)
class Rule:
    """A documented refusal: the exception's type, a part of its message, where it is written."""

    kind: str
    exceptions: frozenset[str]
    message: str
    link: str
    asked_for: Callable[[Sequence], bool] = always

    def covers(self, sequence: Sequence, observation: Observation) -> bool:
        """Whether `observation` is this refusal."""
        return (
            observation.exception in self.exceptions
            and self.message in observation.message
            and self.asked_for(sequence)
        )


RULES = (
    Rule(
        kind="variables may be created during the first call of a tf.function only",
        exceptions=frozenset({"ValueError"}),
        message="tf.function only supports singleton tf.Variables created on the first call",
        link=f"{GUIDE}#creating_tfvariables",
    ),
    Rule(
        kind="variables may be created during the first call of a tf.function only",
        exceptions=frozenset({"ValueError"}),
        message="Creating variables on a non-first call",
        link=f"{GUIDE}#creating_tfvariables",
    ),
    Rule(
        kind="a tensor made while tracing cannot be used outside of that trace",
        exceptions=frozenset({"InaccessibleTensorError", "TypeError"}),
        message="out of scope",
        link=f"{GUIDE}#all_outputs_of_a_tffunction_must_be_return_values",
    ),
    Rule(
        kind="without AutoGraph a tensor is no condition for Python's own control flow",
        exceptions=frozenset({"OperatorNotAllowedInGraphError"}),
        message="",
        link=f"{GUIDE}#autograph_transformations",
        asked_for=_without_autograph,
    ),
    Rule(
        kind="a symbolic tensor has no numpy value",
        exceptions=frozenset({"NotImplementedError"}),
        message="Cannot convert a symbolic tf.Tensor",
        link=f"{GUIDE}#executing_python_side_effects",
    ),
    Rule(
        kind="XLA compiles no operations that it has no kernel for, such as Python calls",
        exceptions=frozenset({"InvalidArgumentError"}),
        message="Detected unsupported operations when trying to compile graph",
        link=XLA_ISSUES,
        asked_for=_uses_xla,
    ),
    Rule(
        kind="XLA hands no lists of tensors over, which the gradient of a loop needs",
        exceptions=frozenset({"UnimplementedError"}),
        message="TensorList crossing the XLA/TF boundary",
        link=XLA_ISSUES,
        asked_for=_uses_xla,
    ),
    Rule(
        kind="XLA needs shapes and some operands as constants",
        exceptions=frozenset({"InvalidArgumentError"}),
        message="must be a compile-time constant",
        link=XLA_ISSUES,
        asked_for=_uses_xla,
    ),
)

ABLATIONS = (
    Ablation(
        "a trace keeps the Python values it read: attributes, globals, closures and contents of"
        f" containers changed since then go unseen ({GUIDE}#depending_on_python_objects,"
        f" {GUIDE}#depending_on_python_global_and_free_variables)",
        lambda: tracing_again(Trigger.CHANGED_BETWEEN),
    ),
    Ablation(
        "Python side effects, random draws among them, happen only while tracing"
        f" ({GUIDE}#executing_python_side_effects)",
        lambda: tracing_again(Trigger.CHANGED_WITHIN),
    ),
)
"""Limitations that tracing again lifts: a difference that goes away under it is documented."""


def documented_rule(sequence: Sequence, observation: Observation) -> str:
    """Return the kind and link of the rule that covers `observation`, or an empty text."""
    for rule in RULES:
        if rule.covers(sequence, observation):
            return f"{rule.kind} ({rule.link})"
    return ""
