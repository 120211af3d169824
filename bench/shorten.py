"""Shortening: known bugs hidden in random sequences of 30 steps, and what is left of them.

Each bug of `bench/bugs/cases.py` and `bench/bugs/found/` is shortened as it stands, which gives its
bucket. Then its steps are hidden, in their order, among random ones over its constructs and others
that promise to be guarded, until 30 steps show the bug; that start is shortened. Asserted of every
result, by code that shares nothing with the passes:

* 1-minimal: each single step, construct, option, size, operand and the architecture is taken away
  in turn, in a fresh process, and the bug is gone each time;
* the same bug: the bucket is the one that the bug alone ended in;
* no two different bugs share a bucket.

    python bench/shorten.py                     bugs that show on eager or aot_eager
    python bench/shorten.py --starts 3          three random starts for each
    python bench/shorten.py --inductor          those that need Inductor
    python bench/shorten.py --quick             as many as fit into 40 seconds, and at least one
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "bugs"))

import click
from cases import CASES, Case

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.findings.bucket import Bucket, bucket_of
from rondo.findings.depth import compiled_anew
from rondo.findings.reproducer import load
from rondo.findings.shorten import Shortened, shorten
from rondo.oracle.result import Alarm, Identity, Result
from rondo.sequences.codec import decode, encode
from rondo.sequences.distribution import StepDistribution
from rondo.sequences.step import (
    CALL_CHOICES,
    Call,
    Change,
    Sequence,
    Step,
    SubjectSpec,
    normalise,
)
from rondo.sequences.vocabulary import COMPILER, SMALLEST, Vocabulary

LENGTH = 30
TARGET = 0.85
FEW = 4
QUICK_SECONDS = 40.0
BYSTANDERS = 2
ATTEMPTS = 24
"""Random starts to try before a bug counts as impossible to hide; noise often cures it."""
LIMITS = Limits(seconds=60.0, resident_bytes=4096 << 20)
FOUND = Path(__file__).parent / "bugs" / "found"
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

    @property
    def same(self) -> bool:
        """Whether the bug ended in the bucket that it ends in alone."""
        return self.bucket == self.own_bucket

    @property
    def reduction(self) -> float:
        """The share of steps that went."""
        return 1 - self.steps / LENGTH


@click.command()
@click.option("--quick", is_flag=True, help="At most about 40 seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--starts", default=1, show_default=True, help="Random starts for each bug.")
@click.option("--seed", default=1, show_default=True)
@click.option("--inductor", is_flag=True, help="Those bugs that show on Inductor alone.")
@click.argument("names", nargs=-1)
def main(
    quick: bool, as_json: bool, starts: int, seed: int, inductor: bool, names: tuple[str, ...]
) -> None:
    """Hide known bugs in random sequences and shorten those."""
    rows: list[Row] = []
    began = time.monotonic()

    def enough() -> bool:
        return bool(quick and rows and time.monotonic() - began > QUICK_SECONDS)

    server = Server("torch")
    own: dict[Bug, str] = {}
    unhidden: list[str] = []
    try:
        bench = Bench(server)
        for bug in bench.bugs(inductor, names):
            alone = bench.shorten(bug.sequence, bug.alarm, bug.anew)
            own[bug] = bench.bucket(alone).name
            for start in range(starts):
                if enough():
                    break
                row = bench.measure(bug, own[bug], Random(f"{seed} {start} {bug.name}"))
                if row is None:
                    unhidden.append(bug.name)
                    continue
                rows.append(row)
                if not as_json:
                    print(line(row), flush=True)
            if enough():
                break
    finally:
        server.close()
    figures = summary(rows, own, unhidden)
    if as_json:
        print(json.dumps({**figures, "rows": [asdict(row) for row in rows]}))
    for name in unhidden:
        print(f"{name}: {ATTEMPTS} random starts of {LENGTH} steps did not show it")
    for bucket, sharing in figures["shared"].items():
        print(f"different bugs in one bucket {bucket}: {', '.join(sharing)}")
    print(
        f"{len(rows)} starts of {LENGTH} steps: 1-minimal {figures['minimal']},"
        f" same bucket {figures['same']}, at most {FEW} steps {figures['few']},"
        f" median reduction {figures['reduction']:.1%} (target >= {TARGET:.0%})"
    )
    whole = figures["minimal"] == figures["same"] == len(rows) > 0
    distinct = not figures["shared"] and not unhidden
    sys.exit(not (whole and distinct and figures["reduction"] >= TARGET))


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
        self.noise = StepDistribution(server.vocabulary)
        self.guarded = [each.name for each in server.vocabulary.constructs if each.guarded]

    def bugs(self, inductor: bool, names: tuple[str, ...]) -> Iterator[Bug]:
        """Yield the known bugs that raise an alarm here, each on the first back end that does."""
        for case in CASES:
            if case.bug and (not names or case.name in names):
                yield from self._case(case, inductor)
        for path in sorted(FOUND.glob("*/*.rondo")) if not inductor else ():
            reproducer = load(path)
            sequence = decode(reproducer.data, self.vocabulary)
            name = path.parent.name.removeprefix("stateful-value-")[:34]
            if not names or name in names:
                yield Bug(name, "found", sequence, reproducer.alarm, None)

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
        return self.executor.run(data)

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
        removals = list(every_removal(decode(short.data, self.vocabulary), self.vocabulary))
        compiled = not served(self.executor.run_fresh(short.data), short.alarm)
        drops = compiler_changes(decode(short.data, self.vocabulary))
        left = [
            what
            for what, candidate in removals
            if self.still_shows(
                candidate,
                short.alarm.identity,
                compiled=compiled and compiler_changes(candidate) < drops,
            )
        ]
        return Row(
            bug.name,
            self.bucket(short).name,
            own_bucket,
            short.steps_after,
            short.executions,
            len(removals),
            tuple(left),
            seconds,
        )

    def hide(self, bug: Bug, rng: Random) -> tuple[Sequence, Alarm, bool | None] | None:
        """Return 30 steps that show `bug`, and no more once its constructs are taken out.

        The bug's own steps are scattered over all 30 at first, and closer together with each
        attempt: random steps between them often cure it, be it by reaching the recompile limit.
        """
        own = len(bug.sequence.steps)
        for attempt in range(ATTEMPTS):
            width = LENGTH - (LENGTH - own) * attempt // (ATTEMPTS - 1)
            hidden = self.mixed(bug.sequence, rng, width)
            result = self.run(encode(hidden))
            for alarm in result.alarms:
                if same_bug(alarm.identity, bug.alarm.identity) and self.guilty(hidden, bug, alarm):
                    return hidden, alarm, compiled_anew(result, alarm)
        return None

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
        result = self.executor.run_fresh(encode(normalise(candidate, self.vocabulary)))
        return any(
            same_bug(alarm.identity, identity) and not (compiled and served(result, alarm))
            for alarm in result.alarms
        )


def compiler_changes(sequence: Sequence) -> int:
    """Return how many steps are changes of the compiler's own state."""
    return sum(isinstance(s, Change) and s.target == COMPILER for s in sequence.steps)


def served(result: Result, alarm: Alarm) -> bool:
    """Whether the exposing call was served what had been compiled before."""
    identity = alarm.identity
    return f"{identity.backend}: after {identity.exposing}: hit" in result.behaviours.values()


def same_bug(first: Identity, second: Identity) -> bool:
    """Whether two alarms are of one kind at one place."""
    names = ("verdict", "effect", "place", "exception")
    return all(getattr(first, name) == getattr(second, name) for name in names)


def without(sequence: Sequence, names: set[str]) -> Sequence:
    """Return `sequence` without some constructs and the changes to them."""
    kept = tuple(name for name in sequence.subject.constructs if name not in names)
    steps = [s for s in sequence.steps if not (isinstance(s, Change) and s.target in names)]
    subject = replace(sequence.subject, constructs=kept)
    return replace(sequence, subject=subject, steps=tuple(steps))


def every_removal(sequence: Sequence, vocabulary: Vocabulary) -> Iterator[tuple[str, Sequence]]:
    """Yield each single thing that can be taken away, by name. Written apart from the passes."""
    for number in range(len(sequence.steps)):
        steps = list(sequence.steps)
        del steps[number]
        yield f"step {number}", replace(sequence, steps=tuple(steps))
    for name in sequence.subject.constructs:
        yield f"construct {name}", without(sequence, {name})
    for field in ("mode", "dynamic", "fullgraph", "cache"):
        if getattr(sequence.options, field) != 0:
            options = replace(sequence.options, **{field: 0})
            yield f"option {field}", replace(sequence, options=options)
    for number in range(sequence.options.backend):
        options = replace(sequence.options, backend=number)
        yield f"back end above {vocabulary.backends[number]}", replace(sequence, options=options)
    if sequence.subject.architecture != SMALLEST and SMALLEST in vocabulary.architectures_by_name:
        subject = replace(sequence.subject, architecture=SMALLEST)
        yield "architecture", replace(sequence, subject=subject)
    if sequence.subject.seed:
        yield "seed", replace(sequence, subject=replace(sequence.subject, seed=0))
    for number, step in enumerate(sequence.steps):
        for what, smaller in smaller_steps(step):
            steps = list(sequence.steps)
            steps[number] = smaller
            yield f"{what} of step {number}", replace(sequence, steps=tuple(steps))


def smaller_steps(step: Step) -> Iterator[tuple[str, Step]]:
    """Yield a step with one operand, or one size, back at the first choice of its table."""
    if not isinstance(step, Call):
        if step.value:
            yield "value", Change(step.target, step.action, 0)
        return
    for name in CALL_CHOICES:
        if getattr(step, name):
            yield name, replace(step, **{name: 0})
    for number, size in enumerate(step.sizes):
        if size:
            sizes = list(step.sizes)
            sizes[number] = 0
            yield f"dimension {number}", replace(step, sizes=tuple(sizes))


if __name__ == "__main__":
    main()
