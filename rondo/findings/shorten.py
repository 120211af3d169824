"""Shortening: the smallest sequence that still shows the same bug.

The passes of `rondo.findings.passes` repeat until a whole round changes nothing. The last of them
tries every single removal there is, so the result is 1-minimal by construction: no single step,
construct, option, size or operand can go. A candidate counts only when an alarm of the same
verdict, effect, place and exception shows. The first rounds demand the same exposing step as well,
which keeps a sequence that holds two bugs on the one it started from; when nothing more can go that
way, the next rounds let the exposing step change too. The last ones follow the bug to a more
telling place or effect, or to fewer steps, as long as one of its places differs still: what differs
in a buffer alone at low precision differs in the output as well at full precision, and is one bug.
So is what shows in the state of one construct when another is changed, and elsewhere without it,
what shows in a generator's state alone once something else has made the output not depend on
what it drew, and what is another number or another dtype depending on which stale object is looked
at.

The key insight: candidates are judged in order, whoever runs them. With several workers the next
few are run at the same time, but the first that shows the bug is taken and not the first to finish,
so the result does not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import islice

from rondo.findings.bucket import akin, find_alarm, without_constructs
from rondo.findings.depth import compiled_anew, drops_before
from rondo.findings.passes import PASSES, Pass, single_removals
from rondo.findings.trials import Showing, Trials
from rondo.oracle.compare import place_of, rank_of
from rondo.oracle.result import Alarm, Identity, Result
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Sequence, normalise
from rondo.sequences.vocabulary import Vocabulary

DIED = "died"
"""The verdict of the result that stands for a process which did not survive."""

Execute = Callable[[bytes], Result | None]
"""Runs bytes somewhere safe; None when that run died or timed out."""

ExecuteAll = Callable[[list[bytes]], list[Result | None]]
"""Runs several at the same time and returns the results in the same order."""

Progress = Callable[[int, int], None]
"""Called with the current number of steps and of executions so far."""


class Freedom(IntEnum):
    """What may be another than at the start, once nothing more can go without."""

    NOTHING = 0
    EXPOSING_STEP = 1
    TELLING = 2


EFFECTS = ("value", "dtype", "shape", "metadata", "layout", "kind", "missing", "fact")
"""From the most telling effect on: a stale number is what most bugs can show."""


HELD = frozenset({"param", "buffer", "grad"})
"""Places that belong to parts of the subject, and go with them."""


def _telling(identity: Identity) -> tuple[tuple[int, str], int]:
    """Return a sort key that puts the most telling place first, and there the effect."""
    effect = identity.effect
    rank = EFFECTS.index(effect) if effect in EFFECTS else len(EFFECTS)
    return rank_of(identity.place), rank


def _places(alarm: Alarm) -> set[str]:
    """Return every place in which `alarm` shows, not only the one that it is named by."""
    return {place_of(each.path) for each in alarm.differences}


@dataclass(frozen=True, slots=True)
class Shortened:
    """A shortened sequence with the alarm that it shows.

    `minimal`: all `removals` of a single thing were tried and lost the bug; else `reason` says why
    it is not known to be.
    """

    data: bytes
    alarm: Alarm
    executions: int
    steps_before: int
    steps_after: int
    minimal: bool
    reason: str = ""
    removals: int = 0


class Shortener:
    """Shortens one sequence. Keeps the best so far, so that it may be stopped at any time.

    `budget` bounds the executions (None: as many as it takes). With `execute_all`, which runs
    `width` candidates at the same time, `execute` is not called. `anew` says whether the exposing
    call of the start was compiled (`rondo.findings.depth`).
    """

    def __init__(
        self,
        data: bytes,
        alarm: Alarm,
        execute: Execute,
        vocabulary: Vocabulary,
        *,
        budget: int | None = 400,
        progress: Progress | None = None,
        trials: Trials | None = None,
        execute_all: ExecuteAll | None = None,
        width: int = 1,
        anew: bool | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.identity = alarm.identity
        self.best = decode(data, vocabulary)
        self.alarm = alarm
        self.anew = anew
        self.executions = 0
        self.trials = trials if trials is not None else Trials()
        self._start = len(self.best.steps)
        self._execute_all = execute_all or (lambda datas: [execute(each) for each in datas])
        self._width = width
        self._budget = budget
        self._progress = progress
        self._freedom = Freedom.NOTHING
        if encode(self.best) not in self.trials:
            self.trials.add(encode(self.best), (Showing(alarm, anew),))

    def run(self) -> Shortened:
        """Shorten until nothing more can go or the budget of executions is spent.

        Candidates that died get a second chance: a machine may have been short of time or memory.
        """
        before = None
        while before != self.best:
            before = self.best
            self._rounds()
            if self.trials.unclear & self._removals():
                self.trials.forget_unclear()
                self._rounds()
        if self._spent():
            return self.stopped(f"the budget of {self._budget} executions was spent")
        removals = self._removals()
        unclear = len(removals & self.trials.unclear)
        if unclear:
            return self.stopped(f"{unclear} of {len(removals)} single removals cannot be judged")
        return self._outcome(minimal=True, removals=len(removals))

    def stopped(self, reason: str) -> Shortened:
        """Return the best so far, which is not known to be minimal for `reason`."""
        return self._outcome(minimal=False, reason=reason)

    def _outcome(self, *, minimal: bool, reason: str = "", removals: int = 0) -> Shortened:
        steps = len(self.best.steps)
        data = encode(self.best)
        return Shortened(
            data, self.alarm, self.executions, self._start, steps, minimal, reason, removals
        )

    def _removals(self) -> set[bytes]:
        """Return every single removal of the best, as bytes; unless it was stopped, all were tried.

        What normalising puts back is none: the steps that change a construct go with it.
        """
        candidates = single_removals(self.best, self.alarm.step, self.vocabulary)
        removals = {encode(normalise(each, self.vocabulary)) for each in candidates}
        removals.discard(encode(self.best))
        assert self._spent() or all(data in self.trials for data in removals)
        return removals

    def _spent(self) -> bool:
        return self._budget is not None and self.executions >= self._budget

    def _rounds(self) -> None:
        """Repeat the passes until nothing changes, with more freedom each time."""
        for self._freedom in Freedom:
            while self._round():
                pass

    def _round(self) -> bool:
        changed = False
        for candidates in PASSES:
            changed |= self._exhaust(candidates)
        return changed

    def _exhaust(self, candidates: Pass) -> bool:
        """Take candidates of the best sequence until none is accepted any more."""
        changed = False
        while self._take_first(candidates(self.best, self.alarm.step, self.vocabulary)):
            changed = True
        return changed

    def _take_first(self, candidates: Iterator[Sequence]) -> bool:
        """Make the first candidate that shows the same bug the best one."""
        valid = (normalise(candidate, self.vocabulary) for candidate in candidates)
        while ahead := list(islice(valid, self._width)):
            self._try_all(ahead)
            for candidate in ahead:
                shown = self._taken(candidate)
                if shown is not None and candidate != self.best:
                    self.best, self.alarm, self.anew = candidate, shown.alarm, shown.anew
                    told = shown.alarm.identity
                    self.identity = replace(self.identity, place=told.place, effect=told.effect)
                    self._tell()
                    return True
        return False

    def _taken(self, candidate: Sequence) -> Showing | None:
        """Return what of a candidate lets it be taken, what the same step exposes first."""
        showings = [
            shown
            for shown in self.trials.get(encode(candidate))
            if self._same(candidate, shown.alarm) and not self._shallower(candidate, shown)
        ]
        exposing = self.identity.exposing
        exposed = [each for each in showings if each.alarm.identity.exposing == exposing]
        if self._freedom is Freedom.NOTHING:
            showings = exposed
        return next(iter(exposed or showings), None)

    def _same(self, candidate: Sequence, alarm: Alarm) -> bool:
        """Whether an alarm is the bug: as it was told or, with that freedom, shorter or better."""
        told, own = alarm.identity, self.identity
        if (told.place, told.effect) == (own.place, own.effect):
            return True
        if self._freedom is not Freedom.TELLING or own.exception:
            return False
        now = (len(self.best.steps), *_telling(own))
        if (len(candidate.steps), *_telling(told)) >= now:
            return False
        return bool(_places(alarm) & _places(self.alarm)) or self._downstream(candidate, alarm)

    def _downstream(self, candidate: Sequence, alarm: Alarm) -> bool:
        """Whether only a bystander is gone, in whose state the bug of another construct showed.

        A running mean is wrong when a stale construct in front of it is, and the output is right
        again behind it: without the bystander, the same change exposes the bug elsewhere. What
        showed in an output is not followed: whatever shows without it may be another bug.
        """
        told, own = alarm.identity, self.alarm.identity
        if (told.exposing, told.effect) != (own.exposing, own.effect):
            return False
        left, before = set(candidate.subject.constructs), set(self.best.subject.constructs)
        if not left < before or own.exposing.partition(".")[0] not in left:
            return False
        gone = HELD | {f"state.{name}" for name in before - left}
        return _places(self.alarm) <= gone and rank_of(told.place) < rank_of(own.place)

    def _shallower(self, candidate: Sequence, shown: Showing) -> bool:
        """Whether a drop of retained state went, and with it the layer that the bug lies in."""
        if not self.anew or shown.anew is not False:
            return False
        now = drops_before(self.best, self.alarm.step, self.vocabulary)
        return now != drops_before(candidate, shown.alarm.step, self.vocabulary)

    def _try_all(self, candidates: list[Sequence]) -> None:
        """Execute those that were not tried before, as far as the budget goes."""
        encoded = dict.fromkeys(encode(candidate) for candidate in candidates)
        fresh = [data for data in encoded if data not in self.trials]
        if self._budget is not None:
            fresh = fresh[: max(0, self._budget - self.executions)]
        if not fresh:
            return
        self.executions += len(fresh)
        for data, result in zip(fresh, self._execute_all(fresh), strict=True):
            shown = self._shown(result)
            self.trials.add(data, shown, unclear=not shown and self._unclear(result))
        self._tell()

    def _unclear(self, result: Result | None) -> bool:
        """Whether nothing can be said of the bug; a death does not tell of one that is no death."""
        return result is None or (result.verdict == DIED != self.identity.verdict)

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(len(self.best.steps), self.executions)

    def _shown(self, result: Result | None) -> tuple[Showing, ...]:
        """Return the alarms that may be the bug's, wherever they show."""
        if result is None:
            return ()
        own = self.identity
        return tuple(
            Showing(alarm, compiled_anew(result, alarm))
            for alarm in result.alarms
            if akin(replace(alarm.identity, place=own.place, effect=own.effect), own)
        )


def shorten(
    data: bytes,
    alarm: Alarm,
    execute: Execute,
    vocabulary: Vocabulary,
    *,
    budget: int | None = 400,
    progress: Progress | None = None,
    anew: bool | None = None,
) -> Shortened:
    """Return the shortest form of `data` that still shows `alarm`'s bug, in `budget` runs."""
    return Shortener(
        data, alarm, execute, vocabulary, budget=budget, progress=progress, anew=anew
    ).run()


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
