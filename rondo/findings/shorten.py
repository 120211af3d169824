"""Shortening: the smallest sequence that still shows the same bug.

Passes, each a plain function from a sequence to candidates, smaller first:

1. cut everything after the step that exposes;
2. delta debugging over steps (Zeller and Hildebrandt, 2002): halves, then quarters, down to one;
3. drop constructs with their steps;
4. a cheaper back end and the usual compile options;
5. the smallest architecture;
6. each operand of each step to its usual choice.

They repeat until a whole round changes nothing: the result is 1-minimal, since no single step,
construct, option or operand can go. A candidate counts only when an alarm of the same verdict,
effect, place and exception shows. The first rounds demand the same exposing step as well, which
keeps a sequence that holds two bugs on the one it started from; when nothing more can go that way,
the last rounds let the exposing step change too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rondo.findings.bucket import find_alarm, without_constructs
from rondo.oracle.result import Alarm, Identity, Result
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import CALL_CHOICES, Call, Change, Options, Sequence, normalise
from rondo.sequences.vocabulary import SMALLEST, Vocabulary

Execute = Callable[[bytes], Result | None]
"""Runs bytes somewhere safe; None when that run died or timed out."""

Pass = Callable[[Sequence, int, Vocabulary], Iterator[Sequence]]
"""From a sequence and the position of its exposing step to candidates, best first."""

Progress = Callable[[int, int], None]
"""Called with the current number of steps and of executions so far."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """A shortened sequence with the alarm that it shows. `complete`: nothing more can go."""

    data: bytes
    alarm: Alarm
    executions: int
    steps_before: int
    steps_after: int
    complete: bool


class Shortener:
    """Shortens one sequence. Keeps the best so far, so that it may be stopped at any time."""

    def __init__(
        self,
        data: bytes,
        alarm: Alarm,
        execute: Execute,
        vocabulary: Vocabulary,
        *,
        budget: int = 400,
        progress: Progress | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.identity = alarm.identity
        self.best = decode(data, vocabulary)
        self.alarm = alarm
        self.executions = 0
        self._start = len(self.best.steps)
        self._execute = execute
        self._budget = budget
        self._progress = progress
        self._tried: dict[bytes, Alarm | None] = {encode(self.best): alarm}
        self._strict = True

    def run(self) -> Shortened:
        """Shorten until nothing more can go or the budget of executions is spent."""
        for self._strict in (True, False):
            while self._round():
                pass
        return self.outcome()

    def outcome(self) -> Shortened:
        """Return the best so far."""
        return Shortened(
            encode(self.best),
            self.alarm,
            self.executions,
            self._start,
            len(self.best.steps),
            self.executions < self._budget,
        )

    def _round(self) -> bool:
        changed = False
        for candidates in PASSES:
            changed |= self._exhaust(candidates)
        return changed

    def _exhaust(
        self, candidates: Callable[[Sequence, int, Vocabulary], Iterator[Sequence]]
    ) -> bool:
        """Take candidates of the best sequence until none is accepted any more."""
        changed = False
        while any(self._try(c) for c in candidates(self.best, self.alarm.step, self.vocabulary)):
            changed = True
        return changed

    def _try(self, candidate: Sequence) -> bool:
        """Make `candidate` the best one if it shows the same bug."""
        candidate = normalise(candidate, self.vocabulary)
        data = encode(candidate)
        if candidate == self.best:
            return False
        if data in self._tried:
            alarm = self._tried[data]
        else:
            if self.executions >= self._budget:
                return False
            self.executions += 1
            result = self._execute(data)
            alarm = find_alarm(result, self.identity, strict=False) if result else None
            self._tried[data] = alarm
        if alarm is None or (self._strict and alarm.identity.exposing != self.identity.exposing):
            return False
        self.best, self.alarm = candidate, alarm
        if self._progress is not None:
            self._progress(len(candidate.steps), self.executions)
        return True


def cut_after(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Cut what follows the exposing step."""
    if step + 1 < len(sequence.steps):
        yield sequence.with_steps(sequence.steps[: step + 1])


def delete_steps(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Delete runs of steps, long runs first, later ones first; the exposing step stays."""
    length = max(1, step)
    while step and length:
        for start in range(step - length, -length, -length):
            kept = sequence.steps[: max(start, 0)] + sequence.steps[start + length :]
            yield sequence.with_steps(kept)
        length //= 2


def drop_constructs(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Drop one construct with the steps that change it."""
    for name in sequence.subject.constructs:
        yield without_constructs(sequence, [name])


def usual_options(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Take a cheaper back end, or one option back to its usual choice."""
    options = sequence.options
    if any((options.mode, options.dynamic, options.fullgraph, options.cache)):
        yield replace(sequence, options=Options(backend=options.backend))
    for backend in range(options.backend):
        yield replace(sequence, options=replace(options, backend=backend))
    for name in ("mode", "dynamic", "fullgraph", "cache"):
        if getattr(options, name):
            yield replace(sequence, options=replace(options, **{name: 0}))


def smaller_subject(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Take the smallest architecture and the usual seed."""
    subject = sequence.subject
    if subject.architecture != SMALLEST and SMALLEST in vocabulary.architectures_by_name:
        smaller = replace(sequence, subject=replace(subject, architecture=SMALLEST))
        own = subject.architecture
        steps = tuple(s for s in sequence.steps if not (isinstance(s, Change) and s.target == own))
        yield smaller.with_steps(steps)
        yield smaller
    if subject.seed:
        yield replace(sequence, subject=replace(subject, seed=0))


def usual_operands(sequence: Sequence, step: int, vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Take steps back to their usual choices: all calls together, then one step at a time.

    Together, because a stale entry is often served only to a call equal to the one that made it.
    """
    steps = sequence.steps
    for simpler_call in _simpler_calls():
        calls = {position: simpler_call(call) for position, call in sequence.calls()}
        yield sequence.with_steps(tuple(calls.get(i, s) for i, s in enumerate(steps)))
    for position, current in enumerate(steps):
        for simpler in _simpler(current):
            yield sequence.with_steps((*steps[:position], simpler, *steps[position + 1 :]))


def _simpler_calls() -> Iterator[Callable[[Call], Call]]:
    """Yield ways to simplify any call: entirely, all but its sizes, its sizes, one operand."""
    yield lambda call: Call(sizes=(0,) * len(call.sizes))
    yield lambda call: Call(sizes=call.sizes)
    yield lambda call: replace(call, sizes=(0,) * len(call.sizes))
    for name in CALL_CHOICES:
        yield partial(usual, operand=name)


def _simpler(step: Call | Change) -> Iterator[Call | Change]:
    if isinstance(step, Change):
        for value in range(step.value):
            yield replace(step, value=value)
        return
    for name in CALL_CHOICES:
        if getattr(step, name):
            yield usual(step, name)
    for index, size in enumerate(step.sizes):
        if size:
            yield replace(step, sizes=(*step.sizes[:index], 0, *step.sizes[index + 1 :]))


def usual(call: Call, operand: str) -> Call:
    """Return `call` with one operand back at its usual choice."""
    change: dict[str, Any] = {operand: 0}
    return replace(call, **change)


PASSES: tuple[Pass, ...] = (
    cut_after,
    delete_steps,
    drop_constructs,
    usual_options,
    smaller_subject,
    usual_operands,
)


def shorten(
    data: bytes,
    alarm: Alarm,
    execute: Execute,
    vocabulary: Vocabulary,
    *,
    budget: int = 400,
    progress: Progress | None = None,
) -> Shortened:
    """Return the shortest form of `data` that still shows `alarm`'s bug, in `budget` runs."""
    return Shortener(data, alarm, execute, vocabulary, budget=budget, progress=progress).run()


def explained_by(
    data: bytes,
    identity: Identity,
    known: list[tuple[str, ...]],
    execute: Execute,
    vocabulary: Vocabulary,
) -> bool:
    """Whether the alarm goes away once the constructs of known bugs are taken out of `data`.

    `known` holds the constructs of each known bucket akin to `identity`. One execution decides
    whether a campaign meets an old bug in other clothes, where shortening would take a hundred.
    """
    sequence = decode(data, vocabulary)
    present = set(sequence.subject.constructs)
    guilty = {name for names in known if names and set(names) <= present for name in names}
    if not guilty:
        return False
    reduced = without_constructs(sequence, guilty)
    if not any(True for _ in reduced.calls()):
        return True
    result = execute(encode(normalise(reduced, vocabulary)))
    return result is not None and find_alarm(result, identity, strict=False) is None
