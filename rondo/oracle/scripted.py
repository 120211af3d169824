"""A framework whose arms show what they are told to: the judge's own test bench.

The key insight: `execute` is the whole path from arms to alarms. With arms that only recite, all of
it is put to the test - lazy reset, sampling, comparison, verdict, identity - and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from rondo.frameworks.base import Arm, CallEvents, Framework, Program
from rondo.oracle.observation import Leaf, Observation
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from rondo.sequences.vocabulary import (
    BATCH,
    ActionSpec,
    ArchitectureSpec,
    Dimension,
    InputSpec,
    Schema,
    TargetSpec,
    Vocabulary,
)

NAME = "recital"

VOCABULARY = Vocabulary(
    framework="scripted",
    architectures=(
        ArchitectureSpec(
            TargetSpec(NAME, "recites", "architecture", (ActionSpec("pause", "", 1),)),
            Schema((Dimension(BATCH, (2,)),), (InputSpec("x", (BATCH,)),)),
        ),
    ),
    constructs=(),
    ambient=(),
    backends=("scripted",),
)


class Recital(Program):
    """Recites one arm's observations, one for each call."""

    def __init__(self, lines: Iterator[Observation]) -> None:
        self._lines = lines

    def call(self, call: Call, *, compiled: bool) -> Observation:
        """Return the next observation."""
        return next(self._lines)

    def change(self, change: Change) -> None:
        """Change nothing."""

    def compiler_change(self, change: Change) -> None:
        """Change nothing."""


class ScriptedFramework(Framework):
    """Arms that recite: `lines` holds each arm's observations, call by call."""

    name: ClassVar[str] = "scripted"
    distribution: ClassVar[str] = "rondo"

    def __init__(
        self, lines: Mapping[Arm, tuple[Observation, ...]], exact: Mapping[str, Leaf] | None
    ) -> None:
        self._lines = {**lines}
        calls = len(next(iter(self._lines.values())))
        reference = Observation({} if exact is None else exact, returned=exact is not None)
        self._lines[Arm.REFERENCE] = (reference,) * calls

    def vocabulary(self) -> Vocabulary:
        """Return one architecture without choices."""
        return VOCABULARY

    def warm(self) -> None:
        """Need nothing."""

    @contextmanager
    def session(self, sequence: Sequence) -> Iterator[None]:
        """Configure nothing."""
        yield

    @contextmanager
    def arm(self, sequence: Sequence, arm: Arm) -> Iterator[Program]:
        """Give the arm its lines."""
        yield Recital(iter(self._lines[arm]))

    def reset(self) -> None:
        """Keep nothing that would have to be dropped."""

    def begin_watch(self) -> None:
        """See nothing."""

    def end_watch(self) -> CallEvents:
        """Say that each call was compiled: this is about values."""
        return CallEvents((), compiled=True, compilations=1)

    def environment(self) -> dict[str, str]:
        """Return nothing."""
        return {}


def judged(
    eager: Observation,
    retained: Observation,
    reset: Observation,
    *,
    first: Observation,
    exact: Mapping[str, Leaf] | None = None,
) -> Result:
    """Return the result of two calls: all arms show `first`, then each shows what is given.

    Every reset arm runs, as a sampled one would.
    """
    lines = {
        Arm.EAGER: (first, eager),
        Arm.RETAINED: (first, retained),
        Arm.RESET: (first, reset),
    }
    framework = ScriptedFramework(lines, exact)
    sequence = normalise(Sequence(SubjectSpec(NAME), Options(), (Call(), Call())), VOCABULARY)
    return execute(encode(sequence), framework, settings=Settings(always_reset=True))
