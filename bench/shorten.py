"""Shortening: known bugs hidden in random sequences of 30 steps, and what is left of them.

Each bug of `bench/bugs/cases.py` and `bench/bugs/torch/` is shortened as it stands, which gives its
bucket. Then its steps are hidden, in their order, among random ones over its constructs and others
that promise to be guarded, until 30 steps show the bug; that start is shortened. Asserted of every
result, by code that shares nothing with the passes:

* 1-minimal: each single step, construct, option, size, operand and the architecture is taken away
  in turn, in a fresh process, and the bug is gone each time;
* the same bug: the bucket is the one that the bug alone ended in;
* no two different bugs share a bucket.

With `--campaign` the bugs are a campaign's findings. Of each it is asserted too, before it is
hidden, that it stands in its folder as it should: fresh processes show it twice in the bucket that
it is filed under, every single removal loses it, and it has at most 4 steps - or says why not. A
finding that is not known to be minimal carries its reason in the reproducer; for one that is
minimal and longer the reason is that none of its steps can go, which is tried here.

    python bench/shorten.py                     bugs that show on eager or aot_eager
    python bench/shorten.py --starts 3          three random starts for each
    python bench/shorten.py --inductor          those that need Inductor
    python bench/shorten.py --quick             as many as fit into 40 seconds, and at least one
    python bench/shorten.py --campaign DIR --folder STATE     a campaign's findings; resumable
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "bugs"))

import click
from cases import CASES, Case
from filed import Filed, Ledger, Runner, filed
from removals import compiler_changes, every_removal, same_bug, served, without

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.errors import RondoError
from rondo.findings.bucket import Bucket, bucket_of
from rondo.findings.depth import compiled_anew
from rondo.findings.reproducer import load
from rondo.findings.shorten import Shortened, shorten
from rondo.oracle.result import Alarm, Identity, Result
from rondo.sequences.codec import decode, encode
from rondo.sequences.distribution import StepDistribution
from rondo.sequences.step import (
    Call,
    Change,
    Sequence,
    Step,
    SubjectSpec,
    normalise,
)

LENGTH = 30
TARGET = 0.85
FEW = 4
QUICK_SECONDS = 40.0
BYSTANDERS = 2
ATTEMPTS = 24
"""Random starts to try before a bug counts as impossible to hide; noise often cures it."""
LIMITS = Limits(seconds=60.0, resident_bytes=4096 << 20)
FOUND = Path(__file__).parent / "bugs" / "torch"
ALARMING = ("stateful", "stateless", "split", "masked")


@dataclass(frozen=True, slots=True)
class Bug:
    """A known bug: its name, where it is from, a sequence and the alarm that it shows."""

    name: str
    source: str
    sequence: Sequence
    alarm: Alarm
    anew: bool | None


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one start."""

    name: str
    bucket: str
    own_bucket: str
    steps: int
    executions: int
    removals: int
    left: tuple[str, ...]
    seconds: float
    unhidden: bool = False
    """No random start showed it; nothing was shortened then."""

    @property
    def same(self) -> bool:
        """Whether the bug ended in the bucket that it ends in alone."""
        return self.bucket == self.own_bucket

    @property
    def reduction(self) -> float:
        """The share of steps that went."""
        return 1 - self.steps / LENGTH


@dataclass(frozen=True, slots=True)
class Standing:
    """A campaign's finding as it stands in its folder.

    `same`: fresh processes show it in the bucket that it is filed under; `left`: what could still
    go; `reason`: why it is not known to be minimal, as the reproducer says.
    """

    name: str
    steps: int
    same: bool
    removals: int
    left: tuple[str, ...]
    reason: str

    @property
    def minimal(self) -> bool:
        """Whether nothing can go, or the finding says why that is not known."""
        return bool(self.reason) or not self.left

    @property
    def short(self) -> bool:
        """Whether it has few steps or a reason to have more."""
        return self.steps <= FEW or self.minimal

    def line(self) -> str:
        """Return the row as it is printed."""
        told = f"{self.name[:72]:72} {self.steps} steps as filed, {self.removals} removals tried"
        if self.steps > FEW:
            told += f"; {self.reason or 'none of its steps can go'}"
        if not self.same:
            told += "\n    fresh processes do not show it in the bucket that it is filed under"
        return told + "".join(f"\n    {what} can go" for what in self.left)


@click.command()
@click.option("--quick", is_flag=True, help="At most about 40 seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--starts", default=1, show_default=True, help="Random starts for each bug.")
@click.option("--seed", default=1, show_default=True)
@click.option("--inductor", is_flag=True, help="Those bugs that show on Inductor alone.")
@click.option("--campaign", type=click.Path(path_type=Path), help="A campaign's findings instead.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keeps rows; a second run resumes.")
@click.argument("names", nargs=-1)
def main(
    quick: bool,
    as_json: bool,
    starts: int,
    seed: int,
    inductor: bool,
    campaign: Path | None,
    folder: Path | None,
    names: tuple[str, ...],
) -> None:
    """Hide known bugs in random sequences and shorten those."""
    rows: list[Row] = []
    standing: list[Standing] = []
    try:
        findings = filed(campaign, names) if campaign else []
    except RondoError as error:
        raise click.UsageError(str(error)) from None
    ledger = Ledger(folder, "shorten")
    began = time.monotonic()

    def enough() -> bool:
        return bool(quick and rows and time.monotonic() - began > QUICK_SECONDS)

    server = Server(findings[0].reproducer.framework if findings else "torch")
    own: dict[Bug, str] = {}
    unhidden: list[str] = []
    try:
        bench = Bench(server)
        for each in findings:
            kept = ledger.get(f"as filed: {each.key}")
            if kept:
                stands = Standing(**{**kept, "left": tuple(kept["left"])})
            else:
                stands = bench.stand(each)
                ledger.add(f"as filed: {each.key}", asdict(stands))
            standing.append(stands)
            if not as_json:
                print(stands.line(), flush=True)
            if enough():
                break
        for bug in bench.filed_bugs(findings) if campaign else bench.bugs(inductor, names):
            for start in range(starts):
                if enough():
                    break
                made = bench.row(bug, seed, start, ledger)
                own[bug] = made.own_bucket
                if made.unhidden:
                    unhidden.append(bug.name)
                    continue
                rows.append(made)
                if not as_json:
                    print(line(made), flush=True)
            if enough():
                break
    finally:
        server.close()
    figures = summary(rows, own, unhidden)
    if as_json:
        stood = [asdict(each) for each in standing]
        print(json.dumps({**figures, "rows": [asdict(row) for row in rows], "as filed": stood}))
    for name in unhidden:
        print(f"{name}: {ATTEMPTS} random starts of {LENGTH} steps did not show it")
    for bucket, sharing in figures["shared"].items():
        print(f"different bugs in one bucket {bucket}: {', '.join(sharing)}")
    if campaign:
        print(
            f"{len(standing)} findings as filed: same bucket {sum(e.same for e in standing)},"
            f" 1-minimal or with a reason {sum(e.minimal for e in standing)}, at most {FEW} steps"
            f" {sum(e.steps <= FEW for e in standing)}, or with a reason"
            f" {sum(e.short for e in standing)}"
        )
    print(
        f"{len(rows)} starts of {LENGTH} steps: 1-minimal {figures['minimal']},"
        f" same bucket {figures['same']}, at most {FEW} steps {figures['few']},"
        f" median reduction {figures['reduction']:.1%} (target >= {TARGET:.0%})"
    )
    whole = figures["minimal"] == figures["same"] == len(rows) > 0
    distinct = not figures["shared"] and not unhidden
    stand = all(each.same and each.minimal and each.short for each in standing)
    sys.exit(not (whole and distinct and stand and figures["reduction"] >= TARGET))


def summary(rows: list[Row], own: dict[Bug, str], unhidden: list[str]) -> dict[str, Any]:
    """Return the figures. A campaign may have found a handed bug: those two may share a bucket."""
    sharing = defaultdict(list)
    for bug, bucket in own.items():
        sharing[f"{bucket} ({bug.source})"].append(bug.name)
    return {
        "starts": len(rows),
        "bugs": len(own),
        "minimal": sum(not row.left for row in rows),
        "same": sum(row.same for row in rows),
        "few": sum(row.steps <= FEW for row in rows),
        "reduction": median(row.reduction for row in rows) if rows else 0.0,
        "executions": median(row.executions for row in rows) if rows else 0,
        "unhidden": unhidden,
        "shared": {bucket: names for bucket, names in sharing.items() if len(names) > 1},
    }


def line(row: Row) -> str:
    """Return a row as it is printed."""
    told = (
        f"{row.name:34} {LENGTH} -> {row.steps} steps, {row.executions} runs, {row.seconds:.0f} s"
    )
    if not row.same:
        told += f"\n    other bucket: {row.bucket}\n    alone:        {row.own_bucket}"
    for removal in row.left:
        told += f"\n    not minimal: {removal} can go"
    return told


class Bench:
    """Runs everything in workers of one server, as a campaign does."""

    def __init__(self, server: Server) -> None:
        self.vocabulary = server.vocabulary
        self.executor = Executor(server, LIMITS, batch=16, interrupted=lambda: None)
        self.runner = Runner(self.executor)
        self.noise = StepDistribution(server.vocabulary)
        self.guarded = [each.name for each in server.vocabulary.constructs if each.guarded]

    def bugs(self, inductor: bool, names: tuple[str, ...]) -> Iterator[Bug]:
        """Yield the known bugs that raise an alarm here, each on the first back end that does."""
        for case in CASES:
            if case.bug and (not names or case.name in names):
                yield from self._case(case, inductor)
        for path in sorted(FOUND.glob("*/*.rondo")) if not inductor else ():
            reproducer = load(path)
            if reproducer.identity.backend == "inductor":
                continue
            sequence = decode(reproducer.data, self.vocabulary)
            name = path.parent.name[:34]
            if not names or name in names:
                yield Bug(name, "found", sequence, reproducer.alarm, None)

    def filed_bugs(self, findings: list[Filed]) -> Iterator[Bug]:
        """Yield a campaign's findings as bugs to hide."""
        for each in findings:
            sequence = decode(each.reproducer.data, self.vocabulary)
            yield Bug(each.name, "campaign", sequence, each.reproducer.alarm, None)

    def stand(self, finding: Filed) -> Standing:
        """Look at a finding as it was filed: is it there, and can anything go?"""
        reproducer = finding.reproducer
        identity = reproducer.identity
        self.runner.about(identity.verdict)
        sequence = decode(reproducer.data, self.vocabulary)
        results = [self.runner.run(reproducer.data) for _ in range(2)]
        buckets = {
            bucket_of(alarm.identity, sequence).name
            for result in results
            for alarm in result.alarms
            if alarm.identity == identity
        }
        shown = all(any(a.identity == identity for a in result.alarms) for result in results)
        tried, left = self.what_can_go(sequence, reproducer.alarm)
        same = shown and buckets == {finding.bucket.name} == {finding.name}
        return Standing(
            finding.name, len(sequence.steps), same, tried, tuple(left), reproducer.reason
        )

    def what_can_go(self, sequence: Sequence, alarm: Alarm) -> tuple[int, list[str]]:
        """Return how many single removals there are, and those that keep the bug."""
        removals = list(every_removal(sequence, self.vocabulary))
        compiled = not served(self.runner.run(encode(sequence)), alarm)
        drops = compiler_changes(sequence)
        return len(removals), [
            what
            for what, candidate in removals
            if self.still_shows(
                candidate,
                alarm.identity,
                compiled=compiled and compiler_changes(candidate) < drops,
            )
        ]

    def row(self, bug: Bug, seed: int, start: int, ledger: Ledger) -> Row:
        """Return the row of one start, from the ledger where an earlier run has made it."""
        digest = blake2b(encode(bug.sequence), digest_size=6).hexdigest()
        key = f"{bug.name} {digest} seed {seed} start {start}"
        kept = ledger.get(key)
        if kept:
            return Row(**{**kept, "left": tuple(kept["left"])})
        self.runner.about(bug.alarm.identity.verdict)
        alone = self.shorten(bug.sequence, bug.alarm, bug.anew)
        own = self.bucket(alone).name
        made = self.measure(bug, own, Random(f"{seed} {start} {bug.name}"))
        row = made or Row(bug.name, "", own, 0, 0, 0, (), 0.0, unhidden=True)
        ledger.add(key, asdict(row))
        return row

    def _case(self, case: Case, inductor: bool) -> Iterator[Bug]:
        backends = ("eager", "aot_eager", "inductor")
        backend = next((b for b in backends if case.verdict(b) in ALARMING), None)
        if backend is None or (backend == "inductor") != inductor:
            return
        sequence = case.sequence(self.vocabulary, backend)
        result = self.run(encode(sequence))
        if result.alarms:
            alarm = result.alarms[0]
            yield Bug(case.name, "handed", sequence, alarm, compiled_anew(result, alarm))
        else:
            print(f"{case.name}: no alarm on {backend}")

    def run(self, data: bytes) -> Result:
        """Execute as a campaign does."""
        return self.runner.run(data, fresh=False)

    def shorten(self, sequence: Sequence, alarm: Alarm, anew: bool | None) -> Shortened:
        """Shorten without a bound on executions."""
        data = encode(sequence)
        return shorten(data, alarm, self.run, self.vocabulary, budget=None, anew=anew)

    def bucket(self, short: Shortened) -> Bucket:
        """Return the bucket of a shortened sequence."""
        return bucket_of(short.alarm.identity, decode(short.data, self.vocabulary))

    def measure(self, bug: Bug, own_bucket: str, rng: Random) -> Row | None:
        """Hide `bug`, shorten it and check the result; None when it cannot be hidden."""
        hidden = self.hide(bug, rng)
        if hidden is None:
            return None
        began = time.monotonic()
        short = self.shorten(*hidden)
        seconds = time.monotonic() - began
        tried, left = self.what_can_go(decode(short.data, self.vocabulary), short.alarm)
        return Row(
            bug.name,
            self.bucket(short).name,
            own_bucket,
            short.steps_after,
            short.executions,
            tried,
            tuple(left),
            seconds,
        )

    def hide(self, bug: Bug, rng: Random) -> tuple[Sequence, Alarm, bool | None] | None:
        """Return 30 steps that show `bug`, and no more once its constructs are taken out.

        The bug's own steps are scattered over all 30 at first, and closer together with each
        attempt: random steps between them often cure it, be it by reaching the recompile limit.

        One that is exposed as the bug is goes before others: with other changes the constructs of
        a bug may show another one.
        """
        own, other = len(bug.sequence.steps), None
        for attempt in range(ATTEMPTS):
            width = LENGTH - (LENGTH - own) * attempt // (ATTEMPTS - 1)
            hidden = self.mixed(bug.sequence, rng, width)
            result = self.run(encode(hidden))
            for alarm in result.alarms:
                if same_bug(alarm.identity, bug.alarm.identity) and self.guilty(hidden, bug, alarm):
                    found = hidden, alarm, compiled_anew(result, alarm)
                    if alarm.identity.exposing == bug.alarm.identity.exposing:
                        return found
                    other = other or found
        return other

    def mixed(self, sequence: Sequence, rng: Random, width: int) -> Sequence:
        """Return `sequence` among random steps, its own within `width` neighbouring places."""
        subject = sequence.subject
        others = [name for name in self.guarded if name not in subject.constructs]
        free = self.vocabulary.limits["constructs"] - len(subject.constructs)
        more = tuple(rng.sample(others, min(BYSTANDERS, free)))
        subject = replace(subject, constructs=(*subject.constructs, *more), seed=rng.randrange(8))
        begin = rng.randrange(LENGTH - width + 1)
        places = set(rng.sample(range(begin, begin + width), len(sequence.steps)))
        own = iter(sequence.steps)
        steps: list[Step] = []
        for place in range(LENGTH):
            steps.append(next(own) if place in places else self.bystander(rng, subject, sequence))
        return normalise(replace(sequence, subject=subject, steps=tuple(steps)), self.vocabulary)

    def bystander(self, rng: Random, subject: SubjectSpec, sequence: Sequence) -> Step:
        """Return a random step, but none that makes another change to the bug's own constructs.

        A construct is a place where a compiler looks away, so its other changes are other bugs.
        """
        own = {(s.target, s.action) for s in sequence.steps if isinstance(s, Change)}
        while True:
            step = self.noise.sample(rng, subject)
            if isinstance(step, Call) or (step.target, step.action) in own:
                return step
            if step.target not in sequence.subject.constructs:
                return step

    def guilty(self, hidden: Sequence, bug: Bug, alarm: Alarm) -> bool:
        """Whether the alarm needs the bug's own constructs; without constructs, its own steps."""
        names = set(bug.sequence.subject.constructs)
        if not names:
            own = set(bug.sequence.steps)
            kept = tuple(step for step in hidden.steps if step not in own)
            return not self.still_shows(hidden.with_steps(kept), alarm.identity)
        return not self.still_shows(without(hidden, names), alarm.identity)

    def still_shows(
        self, candidate: Sequence, identity: Identity, *, compiled: bool = False
    ) -> bool:
        """Whether a fresh process shows the same bug in `candidate`.

        Without a drop of what the compiler retains, stale code may be served where a call compiled
        and was wrong: another bug. With `compiled` that kind does not count.
        """
        result = self.runner.run(encode(normalise(candidate, self.vocabulary)))
        return any(
            same_bug(alarm.identity, identity) and not (compiled and served(result, alarm))
            for alarm in result.alarms
        )


if __name__ == "__main__":
    main()
