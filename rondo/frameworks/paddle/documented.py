"""What `to_static` does by design: real differences that its documentation announces.

A rule is matched on cause, never on a subject's name: on what was raised together with the mode
that was asked for, or on the difference going away under the remedy that the documentation implies.

The rule that matters most is about whole-graph capture: the Python code runs once for each
signature, in static mode, and what runs then writes a Program; Python values, attributes, hooks and
parameters that it read are in the Program as they were. Whoever changes them has to convert again.
So a difference is that rule's if it goes away when all is converted anew after changes of what such
a trace reads, and of nothing else. A fault stays one: arguments that are equal and differ in type,
and Paddle's own global state, which no user can be asked to know of.

Bytecode capture promises more: it has guards. There no stale value is documented.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rondo.frameworks.paddle.changes.compiler import COMPILER
from rondo.frameworks.paddle.kinds import BAKED, SIDE_EFFECT
from rondo.oracle.observation import Observation
from rondo.sequences.step import Change, Sequence

GUIDE = "https://www.paddlepaddle.org.cn/documentation/docs/zh/develop/guides/jit"
PRINCIPLE = f"{GUIDE}/principle_cn.html"
LIMITATIONS = f"{GUIDE}/limitations_cn.html"

AST_BACKEND = 1
"""The place of `ast` among the back ends."""


def _uses_full_graph(sequence: Sequence) -> bool:
    number = [each.spec.name for each in COMPILER.actions].index("full_graph")
    return sequence.options.backend == AST_BACKEND or any(
        isinstance(step, Change) and step.target == COMPILER.name and step.action == number
        for step in sequence.steps
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """A documented refusal: the exception's type, a part of its message, where it is written."""

    kind: str
    exceptions: frozenset[str]
    message: str
    link: str
    asked_for: Callable[[Sequence], bool] = _uses_full_graph

    def covers(self, sequence: Sequence, observation: Observation) -> bool:
        """Whether `observation` is this refusal."""
        return (
            observation.exception in self.exceptions
            and self.message in observation.message
            and self.asked_for(sequence)
        )


RULES: tuple[Rule, ...] = ()

BREACHES = (
    (
        "whole-graph capture runs the Python code once for each signature: values, attributes,"
        " hooks and parameters that it read stay as they were"
        f" ({PRINCIPLE})",
        BAKED,
    ),
    (
        "whole-graph capture runs side effects of the Python code only while it builds a program"
        f" ({PRINCIPLE})",
        BAKED | {SIDE_EFFECT},
    ),
)
"""Rule, and the kinds of the targets after whose changes everything is converted anew."""


def documented_rule(sequence: Sequence, observation: Observation) -> str:
    """Return the kind and link of the rule that covers `observation`, or an empty text."""
    for rule in RULES:
        if rule.covers(sequence, observation):
            return f"{rule.kind} ({rule.link})"
    return ""
