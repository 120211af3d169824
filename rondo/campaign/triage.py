"""From an alarm to a finding: known, flaky, or new and then confirmed, shortened and written.

The key insight: almost every alarm is one that the campaign has met before, in other clothes, and
finding that out must be cheap. Three questions are asked, each dearer than the one before:

1. has an alarm of this identity been looked into with these very constructs? (nothing to run);
2. does it go away without the constructs of known bugs that look like it? (one execution);
3. does it, once confirmed and shortened, fall into a known bucket? (a hundred executions).

All bounds are numbers of executions, never seconds, so that equal campaigns find equal things.
What is known, and which alarms wait or are being looked into, is the `register`'s; a triage is one
slot's way from an alarm to a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from os.path import basename

from rondo.campaign.artifacts import FLAKY, UNCONFIRMED, Artifacts
from rondo.campaign.deaths import DIED, SLOW, Cause
from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.register import Case, Register
from rondo.campaign.stats import Stats
from rondo.campaign.status import FindingNote
from rondo.campaign.stop import StoppedError
from rondo.findings.bucket import akin, bucket_of
from rondo.findings.depth import compiled_anew
from rondo.findings.reproducer import compose
from rondo.findings.shorten import Shortened, Shortener, explained_by
from rondo.oracle.fresh import measure
from rondo.oracle.result import Alarm, Identity, Result, Verdict
from rondo.search.tiers import cost_of
from rondo.sequences.codec import decode
from rondo.sequences.vocabulary import Vocabulary

CONFIRMATIONS = 2
"""Fresh processes that must show an identity from the bytes alone."""
ATTEMPTS = 8
"""Shortenings of one identity that led nowhere new before it is only counted."""
SHORTENING_RUNS = 400
SHORTENING_STATELESS = 80
"""An ordinary miscompilation needs no history: other fuzzers find those, so it gets less time."""
STATELESS_ATTEMPTS = 2
SHORTENING_HANGS = 24
HANG_SHARE, LEAST_HANG = 0.25, 1.0
"""A hang costs a whole timeout each time that it shows. While it is shortened, a part of that is
enough, but not less than so many seconds: fresh processes show the short form with all of it."""


@dataclass
class Tally:
    """What one case adds to the counters, once it is decided.

    What was begun and not decided is done again by a continued campaign, and counts then.
    """

    triage_runs: int = 0
    work: float = 0.0
    confirmed: int = 0
    flaky: int = 0
    known: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    barren: list[Identity] = field(default_factory=list)

    def add_to(self, stats: Stats, register: Register) -> None:
        """Count."""
        stats.triage_runs += self.triage_runs
        stats.triage_work += self.work
        stats.confirmed += self.confirmed
        stats.flaky += self.flaky
        stats.known += self.known
        stats.findings += self.findings.total()
        stats.findings_by_verdict.update(self.findings)
        register.barren.update(self.barren)


def is_hang(identity: Identity) -> bool:
    """Tell whether an alarm is of a step that does not end."""
    return identity.verdict == DIED and identity.effect == Cause.TIMEOUT.value


@dataclass
class Triage:
    """Decides what becomes of alarms, with the workers of one slot.

    A leak shows only where a reset arm is measured against a fresh process, so everything that is
    run on the way of such an alarm is measured.
    """

    executor: Executor
    vocabulary: Vocabulary
    artifacts: Artifacts
    register: Register
    stats: Stats
    doing: Callable[[str], None]
    preloads: tuple[str, ...] = ()
    _leaked: bool = False
    _patience: float = 1.0
    _tally: Tally = field(default_factory=Tally)
    _note: FindingNote | None = None

    def examine(self, case: Case) -> FindingNote | None:
        """Decide `case`; return what there is to tell of it when it is a new finding.

        Raises StoppedError and leaves the case open then. Once confirmed it is decided and written
        down all the same, shortened or not: whoever called meets the end by itself.

        Where retained state masks a bug, all executions on the way run the reset arm at every call:
        which ones get it otherwise follows from the bytes, and shortening changes those.
        """
        verdict = case.alarm.identity.verdict
        self.executor.always_reset = verdict == Verdict.MASKED.value
        self._leaked = verdict == Verdict.LEAKED.value
        self._tally, self._note = Tally(), None
        try:
            decided = self._decide(case)
        finally:
            self.executor.always_reset = self._leaked = False
        self._tally.add_to(self.stats, self.register)
        if decided:
            self.register.met.add(case.key)
        self.register.close(case)
        return self._note

    def settle(self, case: Case) -> None:
        """Take away what was kept lest `case` is lost, now that its end is remembered."""
        if not self.register.holds(case.data):
            self.artifacts.forget(UNCONFIRMED, case.data)

    def _decide(self, case: Case) -> bool:
        """Return whether `case` is a bug, known or new, and no chance event."""
        if self._known(case):
            self._tally.known += 1
            return True
        # On disk for as long as nobody has decided it, whatever ends the driver.
        self.artifacts.keep(UNCONFIRMED, case.data, self.register.note(case.data))
        confirmed = self._confirm(case.data, case.alarm.identity)
        if confirmed is None and is_hang(case.alarm.identity):
            self.register.slow.add((case.architecture, case.alarm.identity.backend))
        if confirmed is not None:
            self._shorten_and_file(case.data, case.alarm, confirmed)
        return confirmed is not None

    def _known(self, case: Case) -> bool:
        key, register = case.key, self.register
        identity = key[0]
        if is_hang(identity) and (case.architecture, identity.backend) in register.slow:
            return True
        stateless = identity.verdict == Verdict.STATELESS.value
        attempts = STATELESS_ATTEMPTS if stateless else ATTEMPTS
        if key in register.met or register.barren[identity] >= attempts:
            return True
        relatives = [bucket for bucket in register.buckets if akin(bucket.identity, identity)]
        if any(not b.constructs and b.identity.exposing == identity.exposing for b in relatives):
            return True
        constructs = [bucket.constructs for bucket in relatives]
        return explained_by(case.data, identity, constructs, self._run, self.vocabulary)

    def _confirm(self, data: bytes, identity: Identity) -> Result | None:
        """Return a fresh result that shows `identity`, or None and `data` goes to quarantine."""
        self.doing(f"confirming {identity}")
        confirmed = None
        if not is_hang(identity) or self._hangs_for_long(data, identity):
            confirmed = self._shown_twice(data, identity)
        if confirmed is None:
            self._tally.flaky += 1
            self._tally.barren.append(identity)
            self.artifacts.keep(FLAKY, data, f"{identity}\n")
        else:
            self._tally.confirmed += 1
        return confirmed

    def _shorten_and_file(self, data: bytes, alarm: Alarm, confirmed: Result) -> None:
        """Write the shortest form down that fresh processes show, or the alarm as it was met."""
        self.doing(f"shortening {alarm.identity}")
        try:
            short = self._shortener(data, alarm, confirmed).run()
            shown = self._shown_twice(short.data, short.alarm.identity)
        except StoppedError:
            self._file(data, alarm.identity, confirmed, original=data, reason="the campaign ended")
            return
        if shown is None:
            reason = "fresh processes did not show the short form"
            self._file(data, alarm.identity, confirmed, original=data, reason=reason)
        else:
            self._file(short.data, short.alarm.identity, shown, original=data, short=short)

    def _shortener(self, data: bytes, alarm: Alarm, confirmed: Result) -> Shortener:
        identity = alarm.identity
        budget = SHORTENING_RUNS
        run: Callable[[bytes], Result] = self._run
        if is_hang(identity):
            budget, run = SHORTENING_HANGS, self._run_briefly
        elif identity.verdict in (Verdict.STATELESS.value, Verdict.LEAKED.value):
            budget = SHORTENING_STATELESS
        return Shortener(
            data,
            alarm,
            run,
            self.vocabulary,
            budget=budget,
            progress=lambda steps, runs: self.doing(
                f"shortening {alarm.identity}: {steps} steps after {runs} runs"
            ),
            anew=compiled_anew(confirmed, alarm),
        )

    def _run_briefly(self, data: bytes) -> Result:
        """Run `data` with a part of the time limit: what hangs hangs sooner as well."""
        seconds = self.executor.limits.seconds
        with self._allowed(min(seconds, max(LEAST_HANG, HANG_SHARE * seconds))):
            return self._run(data)

    def _hangs_for_long(self, data: bytes, identity: Identity) -> bool:
        """Tell whether a fresh process shows a hang within several times the time limit too."""
        with self._allowed(SLOW * self.executor.limits.seconds):
            result = self._run(data, fresh=True)
        return any(alarm.identity == identity for alarm in result.alarms)

    @contextmanager
    def _allowed(self, seconds: float) -> Iterator[None]:
        """Have a step take so long, for a while."""
        limits = self.executor.limits
        self.executor.limits = replace(limits, seconds=seconds)
        self._patience = seconds / limits.seconds
        try:
            yield
        finally:
            self.executor.limits = limits
            self._patience = 1.0

    def _shown_twice(self, data: bytes, identity: Identity) -> Result | None:
        """Return the last of the fresh results if each of them shows `identity`, else None."""
        result = None
        for _ in range(CONFIRMATIONS):
            result = self._run(data, fresh=True)
            if all(alarm.identity != identity for alarm in result.alarms):
                return None
        return result

    def _run(self, data: bytes, *, fresh: bool = False) -> Result:
        """Execute `data` outside the search. A fault shows nothing, like any agreement."""
        self._tally.triage_runs += 1
        try:
            if self._leaked:
                result = measure(data, self.executor.run_fresh_as, self.vocabulary)
            else:
                result = (self.executor.run_fresh if fresh else self.executor.run)(data)
        except ExecutionFaultError:
            result = Result("fault")
        backend = decode(data, self.vocabulary).options.backend
        waited = self._patience if any(is_hang(alarm.identity) for alarm in result.alarms) else 1.0
        self._tally.work += result.work * cost_of(backend) * waited
        return result

    def _file(
        self,
        data: bytes,
        identity: Identity,
        result: Result,
        *,
        original: bytes,
        short: Shortened | None = None,
        reason: str = "",
    ) -> None:
        """Write a confirmed alarm down unless its bucket is known.

        `short` is what `data` was shortened to; without it, `reason` says why it was not.
        """
        sequence = decode(data, self.vocabulary)
        bucket = bucket_of(identity, sequence)
        alarm = next(alarm for alarm in result.alarms if alarm.identity == identity)
        if bucket not in self.register.buckets:
            self._ask_environment()  # others go on meanwhile, and may be first
        if bucket in self.register.buckets:
            self._count_known(identity)
            return
        overfull = identity.verdict == DIED and identity.effect == Cause.MEMORY.value
        reproducer = compose(
            data,
            alarm,
            self.vocabulary,
            result=result,
            environment=self.register.environment or {},
            original=original,
            preloads=tuple(map(basename, self.preloads)),
            death=alarm.differences[0].retained if identity.verdict == DIED else "",
            minimal=short is not None and short.minimal,
            reason=short.reason if short else reason,
            memory_mb=self.executor.limits.resident_bytes >> 20 if overfull else 0,
        )
        path, ours = self.artifacts.save(bucket, reproducer)
        self.register.buckets[bucket] = None
        if not ours:
            self._count_known(identity)
            return
        self._tally.findings[identity.verdict] += 1
        self._note = FindingNote(
            bucket=str(bucket),
            path=str(path),
            steps=len(sequence.steps),
            execution=self.stats.executions,
            shortened=short is not None,
        )

    def _count_known(self, identity: Identity) -> None:
        self._tally.known += 1
        self._tally.barren.append(identity)

    def _ask_environment(self) -> None:
        """Learn the framework's environment once; there may be no time left to ask."""
        if self.register.environment is None:
            with suppress(StoppedError):
                self.register.environment = self.executor.environment()
