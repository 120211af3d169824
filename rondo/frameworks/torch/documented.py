"""What torch.compile refuses by design: real differences, told apart from faults.

A rule is matched on cause, never on a subject's name: on what was raised and the option that asks
for it, or, where a setting lifts a limitation, on the difference going away under that setting.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
import torch._dynamo

from rondo.oracle.observation import Observation
from rondo.sequences.step import Sequence


@dataclass(frozen=True, slots=True)
class Rule:
    """A documented refusal: the exception's type, a part of its message, where it is written."""

    kind: str
    exceptions: frozenset[str]
    message: str
    link: str
    needs_fullgraph: bool = False

    def covers(self, sequence: Sequence, observation: Observation) -> bool:
        """Whether `observation` is this refusal."""
        return (
            observation.exception in self.exceptions
            and self.message in observation.message
            and (not self.needs_fullgraph or sequence.options.choice("fullgraph") == "yes")
        )


RULES = (
    Rule(
        kind="fullgraph=True raises instead of breaking the graph or falling back",
        exceptions=frozenset({"Unsupported", "FailOnRecompileLimitHit", "UserError"}),
        message="",
        link="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
        needs_fullgraph=True,
    ),
    Rule(
        kind="donated buffers: a backward compiled for one use cannot retain its graph",
        exceptions=frozenset({"RuntimeError"}),
        message="non-empty donated buffers",
        link="https://github.com/pytorch/pytorch/pull/130580",
    ),
)


def _hooks_guarded() -> AbstractContextManager[object]:
    patched: AbstractContextManager[object] = torch._dynamo.config.patch(
        skip_nnmodule_hook_guards=False
    )
    return patched


ABLATIONS: tuple[tuple[str, Callable[[], AbstractContextManager[object]]], ...] = (
    (
        "hooks added to or removed from a module after it was compiled are not guarded unless"
        " torch._dynamo.config.skip_nnmodule_hook_guards is False"
        " (https://docs.pytorch.org/docs/stable/torch.compiler_nn_module.html)",
        _hooks_guarded,
    ),
)
"""Limitations that a setting lifts: a difference that goes away under it is documented."""


def documented_rule(sequence: Sequence, observation: Observation) -> str:
    """Return the kind and link of the rule that covers `observation`, or an empty text."""
    for rule in RULES:
        if rule.covers(sequence, observation):
            return f"{rule.kind} ({rule.link})"
    return ""
