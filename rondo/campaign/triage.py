"""From an alarm to a finding: known, flaky, or new and then confirmed, shortened and written.

The key insight: almost every alarm is one that the campaign has met before, in other clothes, and
finding that out must be cheap. Three questions are asked, each dearer than the one before:

1. has an alarm of this identity been looked into with these very constructs? (nothing to run);
2. does it go away without the constructs of known bugs that look like it? (one execution);
3. does it, once confirmed and shortened, fall into a known bucket? (a hundred executions).

All bounds are numbers of executions, never seconds, so that equal campaigns find equal things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os.path import basename

from rondo.campaign.artifacts import FLAKY, UNCONFIRMED, Artifacts
from rondo.campaign.deaths import DIED, Cause
from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.stats import Stats
from rondo.campaign.status import FindingNote
from rondo.campaign.stop import StoppedError
from rondo.findings.bucket import Bucket, akin, bucket_of
from rondo.findings.reproducer import Reproducer
from rondo.findings.shorten import Shortener, explained_by
from rondo.frameworks.base import Arm
from rondo.oracle.result import Alarm, Identity, Result, Verdict
from rondo.sequences.codec import decode
from rondo.sequences.step import describe
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
"""A hang costs a whole timeout each time that it shows."""

Key = tuple[Identity, str, tuple[str, ...]]
"""An alarm as it is met: its identity and the subject it was met in."""


@dataclass
class Triage:
    """Decides what becomes of alarms."""

    executor: Executor
    vocabulary: Vocabulary
    artifacts: Artifacts
    stats: Stats
    report: Callable[[FindingNote], None]
    doing: Callable[[str], None]
    preloads: tuple[str, ...] = ()
    buckets: dict[Bucket, None] = field(default_factory=dict)
    _met: set[Key] = field(default_factory=set)
    _barren: Counter[Identity] = field(default_factory=Counter)
    _environment: dict[str, str] | None = None

    def __post_init__(self) -> None:
        self.buckets.update(dict.fromkeys(self.artifacts.buckets(self.vocabulary)))

    def examine(self, data: bytes, result: Result) -> None:
        """Treat every alarm of `result`. Raises StoppedError; nothing found is lost then."""
        subject = decode(data, self.vocabulary).subject
        for alarm in result.alarms:
            self.stats.alarms += 1
            key = (alarm.identity, subject.architecture, tuple(sorted(subject.constructs)))
            if died_without_compiler(alarm.identity):
                self.stats.program_faults += 1
                continue
            with self._kept_when_stopped(data, alarm.identity):
                known = self._known(data, key)
                confirmed = None if known else self._confirm(data, alarm.identity)
            if known:
                self.stats.known += 1
            elif confirmed is not None:
                self._shorten_and_file(data, alarm, confirmed)
            if known or confirmed is not None:
                self._met.add(key)

    @contextmanager
    def _kept_when_stopped(self, data: bytes, identity: Identity) -> Iterator[None]:
        """Keep an alarm that the end of the campaign leaves undecided."""
        try:
            yield
        except StoppedError:
            self.artifacts.keep(UNCONFIRMED, data, f"{identity}\n")
            raise

    def _known(self, data: bytes, key: Key) -> bool:
        identity = key[0]
        stateless = identity.verdict == Verdict.STATELESS.value
        attempts = STATELESS_ATTEMPTS if stateless else ATTEMPTS
        if key in self._met or self._barren[identity] >= attempts:
            return True
        relatives = [bucket for bucket in self.buckets if akin(bucket.identity, identity)]
        if any(not b.constructs and b.identity.exposing == identity.exposing for b in relatives):
            return True
        constructs = [bucket.constructs for bucket in relatives]
        return explained_by(data, identity, constructs, self._run, self.vocabulary)

    def _confirm(self, data: bytes, identity: Identity) -> Result | None:
        """Return a fresh result that shows `identity`, or None and `data` goes to quarantine."""
        self.doing(f"confirming {identity}")
        confirmed = self._shown_twice(data, identity)
        if confirmed is None:
            self.stats.flaky += 1
            self._barren[identity] += 1
            self.artifacts.keep(FLAKY, data, f"{identity}\n")
        else:
            self.stats.confirmed += 1
        return confirmed

    def _shorten_and_file(self, data: bytes, alarm: Alarm, confirmed: Result) -> None:
        """Write the shortest form down that fresh processes show, or the alarm as it was met."""
        self.doing(f"shortening {alarm.identity}")
        try:
            short = self._shortener(data, alarm).run()
            shown = self._shown_twice(short.data, short.alarm.identity)
        except StoppedError:
            self._file(data, alarm.identity, confirmed, original=data, shortened=False)
            raise
        if shown is None:
            self._file(data, alarm.identity, confirmed, original=data, shortened=False)
        else:
            self._file(short.data, short.alarm.identity, shown, original=data, shortened=True)

    def _shortener(self, data: bytes, alarm: Alarm) -> Shortener:
        identity = alarm.identity
        budget = SHORTENING_RUNS
        if identity.verdict == DIED and identity.effect == Cause.TIMEOUT.value:
            budget = SHORTENING_HANGS
        elif identity.verdict == Verdict.STATELESS.value:
            budget = SHORTENING_STATELESS
        return Shortener(
            data,
            alarm,
            self._run,
            self.vocabulary,
            budget=budget,
            progress=lambda steps, runs: self.doing(
                f"shortening {alarm.identity}: {steps} steps after {runs} runs"
            ),
        )

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
        self.stats.triage_runs += 1
        try:
            return (self.executor.run_fresh if fresh else self.executor.run)(data)
        except ExecutionFaultError:
            return Result("fault")

    def _file(
        self, data: bytes, identity: Identity, result: Result, *, original: bytes, shortened: bool
    ) -> None:
        """Write a confirmed alarm down unless its bucket is known."""
        sequence = decode(data, self.vocabulary)
        bucket = bucket_of(identity, sequence)
        if bucket in self.buckets:
            self.stats.known += 1
            self._barren[identity] += 1
            return
        alarm = next(alarm for alarm in result.alarms if alarm.identity == identity)
        reproducer = Reproducer(
            framework=self.vocabulary.framework,
            data=data,
            decoded=describe(sequence, self.vocabulary),
            identity=identity,
            step=alarm.step,
            differences=alarm.differences,
            steps=result.steps,
            environment=self._ask_environment(),
            original=original,
            preloads=tuple(map(basename, self.preloads)),
            death=alarm.differences[0].retained if identity.verdict == DIED else "",
        )
        path = self.artifacts.save(bucket, reproducer)
        self.buckets[bucket] = None
        self.stats.findings += 1
        self.stats.findings_by_verdict[identity.verdict] += 1
        note = FindingNote(
            bucket=str(bucket),
            path=str(path),
            steps=len(sequence.steps),
            execution=self.stats.executions,
            shortened=shortened,
        )
        self.report(note)

    def _ask_environment(self) -> dict[str, str]:
        """Return the framework's environment; empty when there is no time left to ask."""
        if self._environment is None:
            try:
                self._environment = self.executor.environment()
            except StoppedError:
                return {}
        return self._environment


def died_without_compiler(identity: Identity) -> bool:
    """Tell whether the program died in an arm that compiles nothing: no fault of a compiler."""
    return identity.verdict == DIED and identity.place in (Arm.EAGER.value, Arm.REFERENCE.value)
