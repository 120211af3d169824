"""The campaign: proposes sequences, has them executed, keeps what shows something new.

    propose -> bytes -> worker -> result -> observe (accept?) -> corpus, register -> triage

The key insight: every decision follows from the seed, the corpus and the results, never from a
clock; so a campaign of one worker is repeated by repeating its command, and what a log shows can be
looked at again. Time only decides when to stop. With more workers each slot runs the same loop in
a thread of its own and takes turns with the others (`turns`): one sampler, one corpus and one
register serve all, and only the order in which executions end is left to chance.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from rondo.campaign.artifacts import FAULTS, FLAKY, UNCONFIRMED, Artifacts, count_kept
from rondo.campaign.disk import Disk, DiskFullError
from rondo.campaign.executor import Executor
from rondo.campaign.lines import LineCoverage
from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.register import Case, Register
from rondo.campaign.settings import UNLIMITED, Settings
from rondo.campaign.stats import Stats
from rondo.campaign.status import FindingNote, Snapshot, Status
from rondo.campaign.stop import Stop, StoppedError
from rondo.campaign.triage import Triage, is_hang
from rondo.campaign.turns import Turns
from rondo.errors import ArtifactError, BackendError, CorpusError
from rondo.oracle.behaviours import as_sought
from rondo.oracle.fresh import is_sampled, measure
from rondo.oracle.result import Result, Verdict
from rondo.search.plain import is_suspicious, why_nothing_compiles
from rondo.search.sampler import Sampler, SearchState
from rondo.search.tiers import cost_of
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary

FULL = (DiskFullError, CorpusError, ArtifactError)
"""What a full disk shows itself as."""
TRIAGE_HEAD, TRIAGE_SHARE = 60.0, 0.3
"""Work that confirming and shortening may take, in units of a usual execution on the cheapest back
end: so much, and so much for each unit of the search. Early on alarms come faster than they are
decided, and what the search would find meanwhile is a large part of what it ever finds; later few
alarms are new, and none waits for long."""
MOST_WAITING = 64
"""With more alarms that wait, the oldest is looked into whatever that takes; else the cheapest."""
JOIN_SECONDS = 0.2
"""How long the main thread waits for another at a time: signals are heard in between."""


@dataclass(frozen=True, slots=True)
class Job:
    """A sequence to execute; `proposed` by the sampler, or one of the corpus.

    Without `search` it is no part of the search: it raised an alarm that nobody has decided.
    """

    sequence: Sequence
    proposed: bool
    search: bool = True


@dataclass
class Progress:
    """How far a campaign is, beside what its sampler knows: plain values, fit to be saved."""

    stats: Stats = field(default_factory=Stats)
    register: Register = field(default_factory=Register)
    waiting: deque[Job] = field(default_factory=deque)
    running: dict[int, Job] = field(default_factory=dict)
    seeds_left: int = 0
    inited: bool = False
    accepted: int = 0
    proposed: int = 0
    next_pulse: int = 1
    faults: Counter[str] = field(default_factory=Counter)
    lines: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def begin(cls, seeds: Iterable[Sequence]) -> Progress:
        """Return the start of a campaign over `seeds`."""
        jobs = deque(Job(sequence, proposed=False) for sequence in seeds)
        return cls(waiting=jobs, seeds_left=len(jobs))


@dataclass
class Slot:
    """One worker's place: what runs there, and what to say of it."""

    number: int
    executor: Executor
    triage: Triage
    doing: str = ""


@dataclass
class Keeper:
    """Watches the disk. Without a campaign folder there is nothing to save."""

    disk: Disk

    @property
    def name(self) -> str:
        """What tells this campaign from others of its folder."""
        return ""

    def begin(self, campaign: Campaign) -> None:
        """Save where a campaign begins, so that it always continues from a state of its own."""

    def tick(self, campaign: Campaign) -> None:
        """Do what is due. Called between two steps, with the turn. Raises DiskFullError."""
        self.disk.check()

    def save(self, campaign: Campaign) -> None:
        """Save all that is needed to continue. Raises ArtifactError."""


@dataclass
class Campaign:
    """One campaign from its first seed to its last word."""

    settings: Settings
    vocabulary: Vocabulary
    executors: tuple[Executor, ...]
    state: SearchState
    sampler: Sampler
    artifacts: Artifacts
    status: Status
    stop: Stop
    progress: Progress
    keeper: Keeper
    left: deque[Job] = field(default_factory=deque)
    turns: Turns = field(default_factory=Turns)
    _failures: list[BaseException] = field(default_factory=list)
    _probed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.progress.register.buckets.update(
            dict.fromkeys(self.artifacts.buckets(self.vocabulary))
        )
        self.slots = [self._slot(*each) for each in enumerate(self.executors)]
        self.lines = LineCoverage(
            self.executors,
            self.settings.artifact_prefix,
            wanted=self.settings.lines,
            member=self.keeper.name,
            known=self.progress.lines,
        )

    def _slot(self, number: int, executor: Executor) -> Slot:
        triage = Triage(
            executor,
            self.vocabulary,
            self.artifacts,
            self.progress.register,
            self.stats,
            doing=lambda text: self._say(slot, text),
            preloads=self.settings.preloads,
        )
        slot = Slot(number, executor, triage)
        return slot

    @property
    def stats(self) -> Stats:
        """The counters."""
        return self.progress.stats

    # ------------------------------------------------------------------------------------- threads

    def run(self) -> None:
        """Run seeds, then proposals, until a limit or a signal. The corpus is saved as it grows."""
        others = [
            threading.Thread(target=self._serve, args=(slot,), name=f"slot {slot.number}")
            for slot in self.slots[1:]
        ]
        started = []
        for note in self.artifacts.untold(self.stats.executions):
            self._tell(note)
        try:
            self.keeper.begin(self)
        except FULL as failure:
            self._failures.append(failure)
            self.stop.now()
        for thread in others:
            if self.stop.requested:
                break
            thread.start()
            started.append(thread)
        self._serve(self.slots[0])
        for thread in started:
            while thread.is_alive():
                thread.join(JOIN_SECONDS)
        self.progress.register.reopen()
        self._end()

    def _end(self) -> None:
        """Save everything, whatever ended the campaign; then raise that if it was a failure.

        Whoever is told that the disk is full has everything saved: in the room that was kept for
        it, or nothing would be gained by stopping.
        """
        full = [each for each in self._failures if isinstance(each, FULL)]
        if full:
            self.keeper.disk.release()
        self.lines.save()
        for save in (self.state.corpus.flush, self._save, self._keep_all_undecided):
            try:
                save()
            except FULL as failure:
                self._failures.append(failure)
        self.keeper.disk.release()
        self.status.event("DONE", self.snapshot())
        undecided = count_kept(self.artifacts.folder, UNCONFIRMED)
        if undecided:
            what = "alarm was" if undecided == 1 else "alarms were"
            folder = self.artifacts.folder / UNCONFIRMED
            self.status.info(f"{undecided} {what} not looked into yet: rondo shrink {folder}/FILE")
        for other in self._failures:
            if not isinstance(other, FULL):
                raise other
        if full:
            raise DiskFullError(f"stopped, nothing more can be written: {full[0]}")
        if self._failures:
            raise self._failures[0]

    def _serve(self, slot: Slot) -> None:
        """Work until the end; whatever else happens to one slot ends all, and `run` raises it."""
        try:
            with self.turns.taken():
                self._work(slot)
        except StoppedError:
            pass
        except BaseException as failure:
            self._failures.append(failure)
            self.stop.now()

    # ----------------------------------------------------------------------------------- one slot

    def _work(self, slot: Slot) -> None:
        progress = self.progress
        while True:
            self.stop.check()
            case = self._next_case()
            if case is not None:
                self._examine(slot, case)
            elif progress.waiting:
                self._step(slot, progress.waiting.popleft())
            else:
                self._note_inited()
                job = self._left() if self._spent() else Job(self.sampler.propose(), proposed=True)
                if job is None:
                    return
                self._step(slot, job)
            self.keeper.tick(self)

    def _next_case(self) -> Case | None:
        """Open the alarm to look into now; None where there is none, or the search goes on first.

        What is cheap to decide comes first, so that a minute of it tells of most bugs.
        """
        register = self.progress.register
        if len(register.waiting) > MOST_WAITING:
            return register.take()
        return register.take(self._price) if self._may_examine() else None

    def _may_examine(self) -> bool:
        """Tell whether alarms are looked into, as long as there are not too many of them."""
        stats, progress = self.stats, self.progress
        affordable = TRIAGE_HEAD + TRIAGE_SHARE * stats.search_work
        if self.settings.decide_at_once or stats.triage_work < affordable:
            return True
        return not progress.waiting and self._spent()

    def _price(self, case: Case) -> tuple[bool, bool, int, int]:
        """Return what sorts cases by what they cost. Hangs and ordinary miscompilations wait."""
        identity = case.alarm.identity
        stateless = identity.verdict == Verdict.STATELESS.value
        backend = decode(case.data, self.vocabulary).options.backend
        return is_hang(identity), stateless, backend, len(case.data)

    def _examine(self, slot: Slot, case: Case) -> None:
        """Decide an alarm, and have the next checkpoint say so before anybody is told."""
        began = time.monotonic()
        try:
            note = slot.triage.examine(case)
        finally:
            self.stats.triage_seconds += time.monotonic() - began
        if note is not None:
            self._report(note)
        slot.triage.settle(case)

    def _left(self) -> Job | None:
        """Return the next alarm of a killed driver that the repeated search has not met again."""
        while self.left:
            job = self.left.popleft()
            if self.artifacts.holds(UNCONFIRMED, encode(job.sequence)):
                return job
        return None

    def _note_inited(self) -> None:
        progress = self.progress
        if not (progress.inited or progress.seeds_left):
            progress.inited = True
            self.status.event("INITED", self.snapshot())

    def _spent(self) -> bool:
        runs = self.settings.total_runs
        return runs != UNLIMITED and self.stats.executions + len(self.progress.running) >= runs

    def _step(self, slot: Slot, job: Job) -> None:
        """Execute a job and learn from it. It counts as running until its result is known."""
        sequence, progress = job.sequence, self.progress
        progress.running[slot.number] = job
        data = encode(sequence)
        self._say(slot, f"running {len(sequence.steps)} steps")
        began = time.monotonic()
        fault = ""
        try:
            result = slot.executor.run(data)
        except ExecutionFaultError as failure:
            result, fault = Result("fault"), str(failure)
        took = time.monotonic() - began
        cpu_seconds, resident = slot.executor.last_cpu_seconds, slot.executor.resident_bytes
        reached = slot.executor.last_new_lines  # none where a sample is traced, apart from this
        leaked = None
        if job.search and any(map(is_suspicious, result.alarms)):
            self._probe(slot, sequence.options.backend)
        if is_sampled(data) and not (result.alarms or fault):
            leaked = self._measure(slot, data)
        # Until it is learned nothing waits for a worker any more, so no checkpoint falls between.
        del progress.running[slot.number]
        if fault:
            self._note_fault(data, fault)
        results = [each for each in (result, leaked) if each is not None]
        if not job.search:  # alarms that a killed driver left undecided
            self.stats.triage_runs += 1
            self._meet(data, sequence, results)
            self._note_undecided(data, results)
            return
        backend = self.vocabulary.backends[sequence.options.backend]
        work = result.work * cost_of(sequence.options.backend)
        self.stats.count(result, backend, took, resident, work=work)
        progress.seeds_left -= not job.proposed
        self._meet(data, sequence, results)
        new = self._learn(job, results)
        self._note_undecided(data, results)
        self.lines.after(slot.executor, data, cpu_seconds, new_behaviours=new)
        if reached:
            self.sampler.note_lines(sequence, reached)

    def _probe(self, slot: Slot, backend: int) -> None:
        """Raise BackendError where `backend` cannot compile at all: no alarm of it means anything.

        Once for each back end, at the first alarm that such a one would raise. A user's own subject
        stands alone: no plain model is there to try, and that it never compiles is a finding.
        """
        if self.settings.subject or backend in self._probed:
            return
        self._probed.add(backend)
        self._say(slot, "trying whether a plain model compiles")
        try:
            why = why_nothing_compiles(self.vocabulary, backend, slot.executor.run)
        except ExecutionFaultError:
            return
        if why:
            raise BackendError(f"{why}; leave it out with --backends")

    def _meet(self, data: bytes, sequence: Sequence, results: list[Result]) -> None:
        """Have the alarms of `data` wait to be decided: what ran, and what was measured of it."""
        self.stats.measured += len(results) - 1
        for result in results:
            self.progress.register.meet(data, sequence.subject, result, self.stats)

    def _note_undecided(self, data: bytes, results: list[Result]) -> None:
        """Have the disk hold what waits of `data`, just executed, and nothing else of it.

        It may wait for long, and a kill must not lose it. What a killed driver left there may have
        been chance, or another sequence shows the same by now and stands for it.
        """
        if self.progress.register.holds(data):
            self._keep_undecided(data)
        elif self.artifacts.holds(UNCONFIRMED, data):
            if any(result.alarms for result in results):
                self.artifacts.forget(UNCONFIRMED, data)
            else:
                self.artifacts.move(UNCONFIRMED, FLAKY, data)

    def _learn(self, job: Job, results: list[Result]) -> bool:
        """Let the sampler observe what ran, and the alarms of what was measured of it.

        Returns whether it showed a new behaviour.
        """
        progress, result = self.progress, results[0]
        identities = [as_sought(alarm.identity) for each in results for alarm in each.alarms]
        size = len(self.state.corpus)
        feedback = self.sampler.observe(
            job.sequence, result.behaviours, identities, work=result.work
        )
        if len(self.state.corpus) > size:
            self.stats.new_units += 1
        if job.proposed and feedback.accepted is not None:
            progress.proposed += 1
            progress.accepted += feedback.accepted
        if feedback.new:
            self.status.event("NEW", self.snapshot())
        elif self.stats.executions >= progress.next_pulse:
            self.status.event("pulse", self.snapshot())
        while progress.next_pulse <= self.stats.executions:
            progress.next_pulse *= 2
        return bool(feedback.new)

    def _measure(self, slot: Slot, data: bytes) -> Result:
        """Return where the reset arms of a sequence leak, measured against fresh processes."""
        self._say(slot, "measuring resets against fresh processes")
        try:
            result = measure(data, slot.executor.run_fresh_as, self.vocabulary)
        except ExecutionFaultError:
            return Result("fault")
        leaks = tuple(a for a in result.alarms if a.identity.verdict == Verdict.LEAKED.value)
        return replace(result, alarms=leaks)

    def _note_fault(self, data: bytes, trace: str) -> None:
        """Keep a sequence that made a subject or Rondo itself raise; say so once per place."""
        self.stats.faults += 1
        lines = trace.strip().splitlines()
        where = "; ".join(line.strip() for line in lines[-2:])
        self.progress.faults[where] += 1
        if self.progress.faults[where] == 1:
            path = self.artifacts.keep(FAULTS, data, trace)
            self.status.info(f"a sequence could not be executed ({lines[-1]}); kept in {path}")

    def _save(self) -> None:
        self.keeper.save(self)

    def _keep_all_undecided(self) -> None:
        for data in dict.fromkeys(case.data for case in self.progress.register.undecided()):
            self._keep_undecided(data)

    def _keep_undecided(self, data: bytes) -> None:
        note = self.progress.register.note(data)
        if note:
            self.artifacts.keep(UNCONFIRMED, data, note)

    # -------------------------------------------------------------------------------------- status

    def _report(self, note: FindingNote) -> None:
        """Tell of a finding once a checkpoint remembers it, or none can be written."""
        try:
            self.keeper.save(self)
        finally:
            self._tell(note)

    def _tell(self, note: FindingNote) -> None:
        """Say it, unless this campaign did before it was killed: noted first, so never twice."""
        if self.artifacts.filings.tell(Path(note.path).parent.name):
            self.status.finding(note, self.snapshot())

    def _say(self, slot: Slot, text: str) -> None:
        """Show what is being done; with several slots, what is out of the ordinary."""
        slot.doing = text
        if len(self.slots) > 1:
            special = [s.doing for s in self.slots if s.doing and not s.doing.startswith("running")]
            text = "; ".join([f"{len(self.slots) - len(special)} running", *special[:2]])
        self.status.update(self.snapshot(), text)

    def snapshot(self) -> Snapshot:
        """Return the present figures."""
        progress, stats, corpus = self.progress, self.stats, self.state.corpus
        return Snapshot(
            executions=stats.executions,
            behaviours=len(self.state.ledger),
            corpus=len(corpus),
            corpus_bytes=corpus.size,
            seconds=progress.seconds + self.stop.elapsed,
            resident_bytes=max(executor.resident_bytes for executor in self.executors),
            findings=stats.findings,
            lines=self.lines.count,
            alarms=stats.alarms,
            flaky=stats.flaky,
            acceptance=progress.accepted / progress.proposed if progress.proposed else 0.0,
            findings_by_verdict=dict(stats.findings_by_verdict),
            time_shares=stats.time_shares(),
            earlier_seconds=progress.seconds,
        )
