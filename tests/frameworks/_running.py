"""Running single arms and whole sequences of any framework."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rondo.frameworks.base import Arm, CallEvents, Framework, Program
from rondo.oracle.observation import Observation
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Call, Sequence
from rondo.sequences.vocabulary import TargetSpec
from rondo.sequences.writer import Writer

QUIET = Settings(masked_every=0)


def judged(framework: Framework, writer: Writer, settings: Settings = QUIET) -> Result:
    """Return the result of the written sequence."""
    return execute(encode(writer.sequence()), framework, settings=settings)


@contextmanager
def opened(framework: Framework, writer: Writer, arm: Arm) -> Iterator[tuple[Program, Sequence]]:
    """Open a session and one arm of the written sequence."""
    sequence = decode(encode(writer.sequence()), framework.vocabulary())
    with framework.session(sequence), framework.arm(sequence, arm) as program:
        yield program, sequence


def watched(framework: Framework, program: Program, call: Call) -> tuple[Observation, CallEvents]:
    """Make one compiled call under watch."""
    framework.begin_watch()
    observation = program.call(call, compiled=True)
    return observation, framework.end_watch()


def first_call(sequence: Sequence) -> Call:
    """Return the first call of a sequence."""
    return next(call for _, call in sequence.calls())


def changes_in_parts(construct: TargetSpec, size: int) -> Iterator[list[tuple[str, int]]]:
    """Yield every action of `construct` with every value, `size` at a time; once where none is.

    A sequence has a longest length, and a construct may have more changes than that.
    """
    changes = [(each.name, value) for each in construct.actions for value in range(each.values)]
    for start in range(0, max(1, len(changes)), size):
        yield changes[start : start + size]
