"""The campaign: proposes sequences, has them executed, keeps what shows something new.

    propose -> bytes -> worker -> result -> observe (accept?) -> corpus, triage

The key insight: every decision follows from the seed, the corpus and the results, never from a
clock; so a campaign is repeated by repeating its command, and what a log shows can be looked at
again. Time only decides when to stop.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from rondo.campaign.artifacts import FAULTS, Artifacts
from rondo.campaign.executor import Executor
from rondo.campaign.lines import LineCoverage
from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.settings import UNLIMITED, Settings
from rondo.campaign.stats import Stats
from rondo.campaign.status import Snapshot, Status
from rondo.campaign.stop import Stop, StoppedError
from rondo.campaign.triage import Triage
from rondo.oracle.result import Result
from rondo.search.sampler import Sampler, SearchState
from rondo.sequences.codec import encode
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary


@dataclass
class Campaign:
    """One campaign from its first seed to its last word."""

    settings: Settings
    vocabulary: Vocabulary
    executor: Executor
    state: SearchState
    sampler: Sampler
    artifacts: Artifacts
    status: Status
    stop: Stop
    stats: Stats = field(default_factory=Stats)
    _accepted: int = 0
    _proposed: int = 0
    _faults: Counter[str] = field(default_factory=Counter)
    _next_pulse: int = 1

    def __post_init__(self) -> None:
        self._corpus_bytes = sum(len(entry.data) for entry in self.state.corpus)
        self.triage = Triage(
            self.executor,
            self.vocabulary,
            self.artifacts,
            self.stats,
            report=lambda note: self.status.finding(note, self.snapshot()),
            doing=lambda text: self.status.update(self.snapshot(), text),
            preloads=self.settings.preloads,
        )

        self.lines = LineCoverage(
            self.executor, self.settings.artifact_prefix, wanted=self.settings.lines
        )

    def run(self) -> None:
        """Run seeds, then proposals, until a limit or a signal. The corpus is saved as it grows."""
        try:
            for entry in list(self.state.corpus):
                self._step(entry.sequence, proposed=False)
            self.status.event("INITED", self.snapshot())
            while not self._spent():
                self._step(self.sampler.propose(), proposed=True)
        except StoppedError:
            pass
        self.lines.save()
        self.status.event("DONE", self.snapshot())

    def _spent(self) -> bool:
        runs = self.settings.runs
        return runs != UNLIMITED and self.stats.executions >= runs

    def _step(self, sequence: Sequence, *, proposed: bool) -> None:
        data = encode(sequence)
        self.status.update(self.snapshot(), f"running {len(sequence.steps)} steps")
        began = time.monotonic()
        try:
            result = self.executor.run(data)
        except ExecutionFaultError as fault:
            result = self._note_fault(data, str(fault))
        backend = self.vocabulary.backends[sequence.options.backend]
        self.stats.count(result, backend, time.monotonic() - began, self.executor.resident_bytes)
        identities = [alarm.identity for alarm in result.alarms]
        size = len(self.state.corpus)
        feedback = self.sampler.observe(sequence, result.behaviours, identities)
        if len(self.state.corpus) > size:
            self.stats.new_units += 1
            self._corpus_bytes += len(data)
        if proposed:
            self._proposed += 1
            self._accepted += feedback.accepted
        if feedback.new:
            self.status.event("NEW", self.snapshot())
        elif self.stats.executions >= self._next_pulse:
            self.status.event("pulse", self.snapshot())
        while self._next_pulse <= self.stats.executions:
            self._next_pulse *= 2
        self.lines.after(data, new_behaviours=bool(feedback.new))
        if result.alarms:
            self.triage.examine(data, result)

    def _note_fault(self, data: bytes, trace: str) -> Result:
        """Keep a sequence that made a subject or Rondo itself raise; say so once per place."""
        self.stats.faults += 1
        lines = trace.strip().splitlines()
        where = "; ".join(line.strip() for line in lines[-2:])
        self._faults[where] += 1
        if self._faults[where] == 1:
            path = self.artifacts.keep(FAULTS, data, trace)
            self.status.info(f"a sequence could not be executed ({lines[-1]}); kept in {path}")
        return Result("fault")

    def snapshot(self) -> Snapshot:
        """Return the present figures."""
        stats, corpus = self.stats, self.state.corpus
        return Snapshot(
            executions=stats.executions,
            behaviours=len(self.state.ledger),
            corpus=len(corpus),
            corpus_bytes=self._corpus_bytes,
            seconds=self.stop.elapsed,
            resident_bytes=self.executor.resident_bytes,
            findings=stats.findings,
            lines=self.lines.count,
            alarms=stats.alarms,
            flaky=stats.flaky,
            acceptance=self._accepted / self._proposed if self._proposed else 0.0,
            findings_by_verdict=dict(stats.findings_by_verdict),
            time_shares=stats.time_shares(),
        )
