"""Checking a model of your own, from a test or a script.

    from rondo.testing import assert_stateless

    def test_model():
        assert_stateless(MyModel, [torch.randn(4, 16)])

The key insight: a test suite is the wrong process to fuzz a compiler in - it has compiled, started
threads and changed settings by then. So the model is handed over to a process of its own, which
runs a small campaign and answers with what it found; the suite's process imports no adapter, resets
no compiler and cannot be taken down by a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rondo.subjects.user import Shape
from rondo.testing.handover import Handover
from rondo.testing.outcome import Outcome, StatefulError, UndecidedWarning
from rondo.testing.process import Limits, check

__all__ = ["Outcome", "StatefulError", "UndecidedWarning", "assert_stateless"]

EXECUTIONS = 60
"""Sequences that a test tries: a minute or less, and enough for a bug that half of them show."""


def assert_stateless(
    model: Any,
    example_inputs: Sequence[Any],
    *,
    shapes: Sequence[Shape | None] | None = None,
    sizes: Mapping[str, Sequence[int]] | None = None,
    backends: Sequence[str] = (),
    executions: int = EXECUTIONS,
    seconds: float = 300.0,
    seed: int = 1,
) -> Outcome:
    """Fail if what the compiler kept from earlier calls makes a later call of `model` wrong.

    `model` is a class or function that builds the model when called without arguments, a module,
    of which each run gets a copy, or a function of the inputs. It must be importable: what is
    defined inside a test function cannot be built in another process. `example_inputs`, `shapes`
    and `sizes` are as for `rondo.subject`; `backends` names what to compile with, your own back
    ends included, if importing the model's module registers them.

    `executions` sequences are run, and no new one is begun after `seconds`. The same `seed` tries
    the same sequences. Returns what was seen, with an UndecidedWarning where the time was over
    before all alarms were looked into. Raises StatefulError, an AssertionError, with a
    shortened script; SubjectError when the model cannot be handed over; RondoError when it cannot
    be run.
    """
    __tracebackhide__ = True
    handover = Handover.of(
        model, example_inputs, shapes=shapes, sizes=sizes, backends=tuple(backends)
    )
    outcome = check(handover, Limits(executions, seconds, seed))
    if outcome.findings:
        raise StatefulError(outcome)
    return outcome
