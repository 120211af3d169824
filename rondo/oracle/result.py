"""What executing a sequence gives: verdicts, alarms, behaviours. Pure data, ready for msgpack."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any


class Verdict(Enum):
    """What the arms say of a step; the value is the word used everywhere."""

    AGREE = "agree"
    STATEFUL = "stateful"
    MASKED = "masked"
    STATELESS = "stateless"
    SPLIT = "split"
    LEAKED = "leaked"
    DOCUMENTED = "documented"
    UNCERTAIN = "uncertain"
    NOT_COMPILED = "not compiled"
    NOT_COMPARABLE = "not comparable"

    @property
    def alarms(self) -> bool:
        """Whether this verdict is an alarm."""
        return self in ALARMING


ALARMING = frozenset(
    {Verdict.STATEFUL, Verdict.MASKED, Verdict.STATELESS, Verdict.SPLIT, Verdict.LEAKED}
)


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """What makes two alarms the same one: a frozen value that orders, hashes and prints.

    `place` is the kind of path that differs first (`output`, `grad`, `state.list_alias` ...),
    `exposing` the change or the call operand in front of it, `exception` the type where the effect
    is one.
    """

    verdict: str
    effect: str
    backend: str
    place: str
    exposing: str
    exception: str = ""

    def __str__(self) -> str:
        tail = f" ({self.exception})" if self.exception else ""
        return (
            f"{self.verdict}: {self.effect} in {self.place} on {self.backend},"
            f" exposed by {self.exposing}{tail}"
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """One path on which arms disagree, with each arm's leaf as a short text ("" if not run)."""

    path: str
    effect: str
    eager: str
    retained: str
    reset: str = ""


@dataclass(frozen=True, slots=True)
class Alarm:
    """Arms disagree at a step."""

    step: int
    identity: Identity
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step as the arms saw it: digests of their observations, "" where an arm did not run."""

    text: str
    verdict: str
    eager: str = ""
    retained: str = ""
    reset: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of executing one sequence.

    `kept` holds packed observations of reset arms by step, where they were asked for. `behaviours`
    maps the stable 64-bit hashes of all compile behaviours seen in the retained arm to
    their readable labels. `seconds` holds the wall time of each arm, `work` what the retained arm
    took by counting, in usual executions: equal bytes give equal work, whatever the machine does.
    `outcomes` says of each call by its position what became of it there (`behaviours.outcome_of`).
    """

    verdict: str
    alarms: tuple[Alarm, ...] = ()
    behaviours: dict[int, str] = field(default_factory=dict)
    steps: tuple[StepReport, ...] = ()
    calls: int = 0
    raised: int = 0
    uncertain: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    kept: dict[int, bytes] = field(default_factory=dict)
    work: float = 1.0
    outcomes: dict[int, str] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """Return this result as dicts and lists for msgpack."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Result:
        """Return what `to_data` described. Raises KeyError or TypeError on other data."""
        alarms = tuple(
            Alarm(
                alarm["step"],
                Identity(**alarm["identity"]),
                tuple(Difference(**difference) for difference in alarm["differences"]),
            )
            for alarm in data["alarms"]
        )
        steps = tuple(StepReport(**step) for step in data["steps"])
        return cls(**{**data, "alarms": alarms, "steps": steps})
