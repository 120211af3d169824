"""Which executions a campaign traces on Python 3.11, so that lines cost a tenth at most.

The key insight: on 3.11 a traced execution costs 1.6 to 1.75 times an untraced one whatever the
tracer does, so the only lever is how many executions are traced. An execution whose behaviours
were all known rarely reaches new lines; one with new behaviours usually does. So those are traced
first, and what budget is left samples the others, because lines without a new behaviour exist.

The policy works on CPU time, not on counts: a campaign that spends a budget of time cannot
overspend it by meeting expensive executions. Three rules:

1. An execution is traced only if the total stays within `limit` times the untraced cost after it,
   at the price that tracing it is expected to have.
2. An execution with new behaviours may use the whole budget.
3. Any other may only use what lies above `reserve` of it, and only every `stride`-th asks.

On 3.12 and later nothing is sampled: `always` is true and every execution is traced.
"""

from __future__ import annotations

from dataclasses import dataclass

from rondo._native.tracer import MONITORING

TRACED_COST = 1.75
"""What a traced execution costs relative to an untraced one (`bench/tracer.py` on 3.11)."""


@dataclass(slots=True)
class SampledTracing:
    """Decides, execution by execution, whether lines are traced.

    The campaign runs every execution untraced, and asks afterwards: a yes means "run it again under
    the tracer" (`rerun`, the default), so that behaviours are known when the question is asked and
    the run that is judged is never the traced one. With `rerun=False` the question is asked before
    an execution, and only the tracer's surcharge counts as spent.
    """

    limit: float = 1.10
    """Total cost allowed, relative to the same campaign without lines."""
    reserve: float = 0.5
    """Share of the budget kept for executions with new behaviours."""
    stride: int = 8
    """Of the executions without new behaviours, one in so many may be traced."""
    rerun: bool = True
    """Whether a traced execution is a second one, on top of the untraced."""
    always: bool = MONITORING
    """Trace everything: on 3.12+ the steady state is free."""
    asked: int = 0
    traced: int = 0
    refused_new: int = 0
    """Executions with new behaviours that the budget did not allow: lines may be missing."""
    _without_new: int = 0

    def __post_init__(self) -> None:
        if self.limit < 1.0 or not 0.0 <= self.reserve <= 1.0 or self.stride < 1:
            raise ValueError(
                f"limit {self.limit} must be at least 1, reserve {self.reserve} within 0 and 1, "
                f"stride {self.stride} at least 1"
            )

    def should_trace(
        self,
        execution_had_new_behaviours: bool,
        *,
        spent_traced_cpu: float,
        spent_total_cpu: float,
        execution_cpu: float = 0.0,
    ) -> bool:
        """Whether to trace this execution.

        `spent_traced_cpu` is the CPU time of all traced executions so far, `spent_total_cpu` that
        of everything the campaign did, the traced executions included. `execution_cpu` is what
        this very execution took untraced; without it, the mean stands in, and one execution far
        above the mean may overspend once.
        """
        self.asked += 1
        if self.always:
            self.traced += 1
            return True
        if not execution_had_new_behaviours:
            self._without_new += 1
            if self._without_new % self.stride:
                return False
        left = self.budget_left(spent_traced_cpu, spent_total_cpu)
        if not execution_had_new_behaviours:
            left -= self.reserve * self._budget(spent_traced_cpu, spent_total_cpu)
        if self._next_price(spent_traced_cpu, spent_total_cpu, execution_cpu) > left:
            self.refused_new += execution_had_new_behaviours
            return False
        self.traced += 1
        return True

    def budget_left(self, spent_traced_cpu: float, spent_total_cpu: float) -> float:
        """CPU seconds of extra cost that the limit still allows."""
        return self._budget(spent_traced_cpu, spent_total_cpu) - self._extra(spent_traced_cpu)

    def cost(self, spent_traced_cpu: float, spent_total_cpu: float) -> float:
        """The total relative to a campaign that traces nothing; at most `limit`."""
        plain = spent_total_cpu - self._extra(spent_traced_cpu)
        return spent_total_cpu / plain if plain > 0 else 1.0

    def _extra(self, spent_traced_cpu: float) -> float:
        """What the traced executions cost on top: all of it when they are second ones."""
        return spent_traced_cpu if self.rerun else spent_traced_cpu * (1 - 1 / TRACED_COST)

    def _budget(self, spent_traced_cpu: float, spent_total_cpu: float) -> float:
        return (self.limit - 1.0) * (spent_total_cpu - self._extra(spent_traced_cpu))

    def _next_price(
        self, spent_traced_cpu: float, spent_total_cpu: float, execution_cpu: float
    ) -> float:
        """The extra cost of tracing one more execution."""
        if execution_cpu > 0:
            return self._extra(TRACED_COST * execution_cpu)
        if self.traced and spent_traced_cpu > 0:
            return self._extra(spent_traced_cpu) / self.traced
        return self._extra(TRACED_COST * (spent_total_cpu - spent_traced_cpu) / self.asked)
