"""Which line tracer can work here, what it can do, and why every other one was refused.

The key insight: a tracer that silently does less than asked is the worst outcome - coverage would
look low and nobody would know why. So the choice is a value: the tracer or None, flags that say
what it can do, and one line of reason per refusal, which the campaign prints and keeps.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from rondo._native.tracer import MECHANISM, MONITORING, LineTracer, other_tracer


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the chosen mechanism can do; all false when there is none."""

    mechanism: str
    """`sys.monitoring`, `PyEval_SetTrace`, or `none`."""
    new_lines: bool
    """Each run can say which lines it added."""
    complete_runs: bool
    """`begin_run(complete=True)` gives every line of one run."""
    free_when_seen: bool
    """Lines seen once cost nothing afterwards; if not, trace a sample (`SampledTracing`)."""
    foreign_threads: bool
    """Threads that neither `threading` nor an earlier run knew are traced from their start."""


MONITORING_CAPABILITIES = Capabilities("sys.monitoring", True, True, True, True)
SETTRACE_CAPABILITIES = Capabilities("PyEval_SetTrace", True, True, False, False)
NO_CAPABILITIES = Capabilities("none", False, False, False, False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One mechanism that was not taken, and why."""

    mechanism: str
    reason: str

    def __str__(self) -> str:
        return f"{self.mechanism}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The tracer to use, not yet started; None when none can work, and then `refusals` say why."""

    tracer: LineTracer | None
    capabilities: Capabilities
    refusals: tuple[Refusal, ...]

    def describe(self) -> str:
        """One line for the log of a campaign."""
        refused = "; ".join(map(str, self.refusals))
        if self.tracer is None:
            return f"lines are not traced ({refused})"
        return f"lines are traced through {self.capabilities.mechanism} ({refused})"


def choose_tracer(trees: Sequence[str | PathLike[str]], *, wanted: bool = True) -> Choice:
    """The line tracer for these source trees on this interpreter.

    Nothing is started, and an active debugger or coverage.py is a refusal, not an error: a person
    who debugs a campaign wants the debugger more than the lines. `LineTracer.start` asks again and
    raises, in case one came between.
    """
    refusals = [_other_mechanism()]
    reason = _why_not(trees) if wanted else "lines were not asked for"
    if reason is not None:
        return Choice(None, NO_CAPABILITIES, (*refusals, Refusal(MECHANISM, reason)))
    capabilities = MONITORING_CAPABILITIES if MONITORING else SETTRACE_CAPABILITIES
    return Choice(LineTracer(trees), capabilities, tuple(refusals))


def _other_mechanism() -> Refusal:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if MONITORING:
        return Refusal(
            "PyEval_SetTrace", f"on Python {version} sys.monitoring does the same for less"
        )
    return Refusal("sys.monitoring", f"needs Python 3.12, this is {version}")


def _why_not(trees: Sequence[str | PathLike[str]]) -> str | None:
    if sys.implementation.name != "cpython":
        return f"works on CPython only, this is {sys.implementation.name}"
    if not trees:
        return "no source tree to trace"
    return other_tracer()
