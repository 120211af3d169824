"""What is known of alarms: buckets, alarms met before, and the cases that wait or are open.

The key insight: slots must neither report a bug twice nor all work on the same one. The bucket of a
finding prevents the first, and is asked again at the last moment. Against the second an alarm that
is akin to one that another slot is looking into waits for the answer, which nearly always makes it
a known one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rondo.campaign.deaths import DIED
from rondo.campaign.stats import Stats
from rondo.findings.bucket import Bucket, akin
from rondo.frameworks.base import Arm
from rondo.oracle.result import Alarm, Identity, Result
from rondo.sequences.step import SubjectSpec

Key = tuple[Identity, str, tuple[str, ...]]
"""An alarm as it is met: its identity and the subject it was met in."""


@dataclass(frozen=True, slots=True)
class Case:
    """An alarm to be decided, with the bytes that raised it."""

    data: bytes
    alarm: Alarm
    architecture: str
    constructs: tuple[str, ...]

    @property
    def key(self) -> Key:
        """What makes it the same case as another one."""
        return self.alarm.identity, self.architecture, self.constructs


@dataclass
class Register:
    """What all slots know of alarms together.

    `slow` holds architectures, with the back end, that have been taken for hanging and only took
    their time: they are not waited for again.
    """

    buckets: dict[Bucket, None] = field(default_factory=dict)
    met: set[Key] = field(default_factory=set)
    barren: Counter[Identity] = field(default_factory=Counter)
    slow: set[tuple[str, str]] = field(default_factory=set)
    waiting: deque[Case] = field(default_factory=deque)
    open: list[Case] = field(default_factory=list)
    environment: dict[str, str] | None = None

    def meet(self, data: bytes, subject: SubjectSpec, result: Result, stats: Stats) -> None:
        """Have every alarm of `result` wait to be decided, but for those of no interest."""
        pending = {case.key for case in (*self.open, *self.waiting)}
        for alarm in result.alarms:
            stats.alarms += 1
            if died_without_compiler(alarm.identity):
                stats.program_faults += 1
                continue
            case = Case(data, alarm, subject.architecture, tuple(sorted(subject.constructs)))
            if case.key in pending:
                stats.known += 1
                continue
            pending.add(case.key)
            self.waiting.append(case)

    def take(self, price: Callable[[Case], Any] | None = None) -> Case | None:
        """Open the first waiting case that is akin to no open one; None when there is none.

        With `price`, the one of least price, and the first of equals.
        """
        free = (
            case
            for case in self.waiting
            if not any(akin(case.alarm.identity, each.alarm.identity) for each in self.open)
        )
        case = min(free, key=price, default=None) if price else next(free, None)
        if case is not None:
            self.waiting.remove(case)
            self.open.append(case)
        return case

    def close(self, case: Case) -> None:
        """Note that `case` is decided."""
        self.open.remove(case)

    def holds(self, data: bytes) -> bool:
        """Tell whether `data` raised an alarm that nobody has decided yet."""
        return any(case.data == data for case in self.undecided())

    def note(self, data: bytes) -> str:
        """Return the identities of the alarms of `data` that nobody has decided, one to a line.

        Those that were decided elsewhere in the same words are left out: it takes but a look.
        """
        found = (c for c in self.undecided() if c.data == data and c.key not in self.met)
        return "".join(f"{case.alarm.identity}\n" for case in found)

    def undecided(self) -> tuple[Case, ...]:
        """Return all cases that nobody has decided yet."""
        return (*self.open, *self.waiting)

    def reopen(self) -> None:
        """Have the cases wait again that were open when the campaign ended."""
        self.waiting.extendleft(reversed(self.open))
        self.open.clear()


def died_without_compiler(identity: Identity) -> bool:
    """Tell whether the program died in an arm that compiles nothing: no fault of a compiler."""
    return identity.verdict == DIED and identity.place in (Arm.EAGER.value, Arm.REFERENCE.value)
