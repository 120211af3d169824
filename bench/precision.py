"""Are alarms true? Each alarm of a search is confirmed by a path that knows nothing of the search.

A search like a campaign's - seeds, then proposals of its sampler, in workers that serve sixteen
sequences each - runs on clean torch on every back end, and under every seeded fault of
`bench/faults/`. A campaign leaves what has alarmed, so its alarms are few; here every second one
(four of five on other frameworks) is a mutation of a sequence that alarmed. What is counted are
alarms, not findings or buckets: nothing is confirmed twice, shortened or sorted out before. Each
one is then judged anew from its bytes alone:

1. in a fresh process, with the reset arm at *every* call, the same step must raise the same alarm;
2. in another fresh process, which runs that one reset arm and nothing else, it must show the same:
   else the alarm rests on a reset that was none.

Anything else counts against precision, whatever it is called. Documented limitations are no alarms;
how many executions met one is printed beside.

Another framework has no seeded faults. There the searches run on it as it is, on each back end, and
begin with each change of each construct between two calls, beside the shipped seeds.

    python bench/precision.py --folder=DIR        1,000 alarms, 20,000 quiet calls; resumable
    python bench/precision.py --framework=jax     200 alarms
    python bench/precision.py --quick             some alarms under two faults, some quiet calls
    python bench/precision.py clean guard_        conditions whose names contain one of these
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from random import Random
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))

import quiet  # (scripts of the bench, no package)
from rows import add_row, read_rows
from seeded import Fault, Workers, all_faults

from rondo.campaign.corpora import Scope, open_corpus
from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError, Limits
from rondo.campaign.settings import Settings
from rondo.oracle.fresh import AFTER, leak_between
from rondo.oracle.result import Alarm, Result
from rondo.search.sampler import MAX_LENGTH, SearchState
from rondo.search.samplers import create_sampler
from rondo.sequences.codec import decode, encode
from rondo.sequences.mutate import MutationContext, apply_havoc
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from rondo.sequences.vocabulary import SMALLEST, Vocabulary

CORPUS = Path(__file__).parents[1] / "corpus"


@dataclass(frozen=True, slots=True)
class Aim:
    """What must be reached: the share of alarms confirmed, of how many, and quiet calls made.

    `mutations`: how many mutations of what has alarmed follow each proposal of the sampler.
    """

    precision: float
    alarms: int
    calls: int
    mutations: int


TORCH, OTHERS = Aim(0.995, 1000, 20_000, 1), Aim(0.99, 200, 0, 4)
"""Paddle's bytecode capture overlooks changes of any program, so no construct is quiet there."""


def aim_of(framework: str) -> Aim:
    """Return what must be reached on a framework."""
    return TORCH if framework == "torch" else OTHERS


BATCH = 16
MOST_MUTATIONS = 3
"""Stacked on a sequence that alarmed: few, so that most still alarm."""
LIMITS = Limits(seconds=300.0, resident_bytes=4096 << 20)
"""Five minutes: on a crowded machine a long sequence takes two, and is no hang."""
QUICK_CONDITIONS = ("guard_bool", "rng_offset_reused")
QUICK_SECONDS = 12.0
PATIENCE = 3
"""How many times as long a fertile condition may take when others have had too few alarms."""

Z = 1.96
"""Standard deviations of a 95% interval."""

CONFIRMED = "confirmed"
LEAKED = "leaked"


@dataclass(frozen=True, slots=True)
class Condition:
    """What a search runs under: a fault or none, on one back end."""

    name: str
    backend: str
    fault: Fault | None = None


@dataclass(slots=True)
class Tally:
    """What the search under one condition met, and what became of its alarms."""

    condition: str
    outcomes: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    executions: int = 0
    calls: int = 0
    documented: int = 0
    seconds: float = 0.0

    @property
    def alarms(self) -> int:
        """How many alarms were judged."""
        return self.outcomes.total()

    def add(self, other: Tally) -> None:
        """Count what `other` has counted."""
        self.outcomes += other.outcomes
        self.verdicts += other.verdicts
        self.executions += other.executions
        self.calls += other.calls
        self.documented += other.documented
        self.seconds += other.seconds

    def figures(self) -> dict[str, Any]:
        """Return all counts as plain data (`asdict` would count a Counter's pairs)."""
        data: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**data, "outcomes": dict(self.outcomes), "verdicts": dict(self.verdicts)}

    def line(self) -> str:
        """Return a row of the printed table."""
        others = {name: count for name, count in self.outcomes.items() if name != CONFIRMED}
        return (
            f"{self.condition:28} {self.executions:6} executions {self.alarms:5} alarms"
            f" {self.outcomes[CONFIRMED]:5} confirmed {self.documented:4} documented"
            + (f"  NOT CONFIRMED {others}" if others else "")
        )


def conditions(framework: str, backends: tuple[str, ...]) -> list[Condition]:
    """Return each back end as it is; for torch every fault too, on the cheapest that has it."""
    clean = [Condition(f"clean-{backend}", backend) for backend in backends]
    faults = all_faults() if framework == "torch" else []
    return clean + [Condition(fault.name, fault.backend, fault) for fault in faults]


def pokes(vocabulary: Vocabulary) -> Iterator[Sequence]:
    """Yield each change of each construct between two calls: where there is no fault to seed."""
    for construct in vocabulary.constructs:
        for number, action in enumerate(construct.actions):
            for value in range(action.values):
                change = Change(construct.name, number, value)
                subject = SubjectSpec(SMALLEST, (construct.name,))
                yield normalise(Sequence(subject, Options(), (Call(), change, Call())), vocabulary)


class Search:
    """The loop of a campaign, without what it does with alarms."""

    def __init__(
        self, condition: Condition, workers: Workers, *, seed: int, seen: set[bytes]
    ) -> None:
        framework = workers.vocabulary.framework
        settings = Settings((CORPUS / framework,), framework, backends=(condition.backend,))
        scope = Scope.of(settings, workers.vocabulary, usual_length=MAX_LENGTH)
        corpus, _ = open_corpus(settings, workers.vocabulary, scope, damaged=lambda text: None)
        corpus.directory = None
        seeds = [entry.sequence for entry in corpus]
        if framework != "torch":
            options = Options(scope.vocabulary.backends.index(condition.backend))
            seeds += [replace(each, options=options) for each in pokes(workers.vocabulary)]
        self.seeds = [each for each in seeds if encode(each) not in seen]
        state = SearchState.begin(scope.vocabulary, corpus, max_length=scope.max_length)
        self.sampler = create_sampler("mcmc", state, seed=seed, backends=scope.backends)
        self.mutations = aim_of(framework).mutations
        self.rng = Random(seed)
        self.context = MutationContext(state.distribution, state.library, scope.backends)
        self.alarmed: list[Sequence] = []
        self.executor = Executor(workers.server, LIMITS, batch=BATCH, interrupted=lambda: None)

    def results(self) -> Iterator[tuple[bytes, Result]]:
        """Yield bytes and result of one execution after the other, without end."""
        for sequence in self._sequences():
            data = encode(sequence)
            try:
                result = self.executor.run(data)
            except ExecutionFaultError:
                result = Result("fault")
            identities = [alarm.identity for alarm in result.alarms]
            self.sampler.observe(sequence, result.behaviours, identities, work=result.work)
            if result.alarms:
                self.alarmed.append(sequence)
            yield data, result

    def _sequences(self) -> Iterator[Sequence]:
        yield from self.seeds
        while True:
            yield self.sampler.propose()
            for _ in range(self.mutations if self.alarmed else 0):
                # Admitted: a mutation may leave the support of the sampler's target.
                count = 1 + self.rng.randrange(MOST_MUTATIONS)
                chosen = self.rng.choice(self.alarmed)
                mutated, _ = apply_havoc(chosen, self.rng, self.context, count)
                yield self.context.distribution.admit(mutated, self.rng)


class Court:
    """Judges alarms from bytes alone, in fresh processes."""

    def __init__(self, workers: Workers) -> None:
        self.vocabulary = workers.vocabulary
        self.executor = Executor(workers.server, LIMITS, batch=1, interrupted=lambda: None)

    def judge(self, data: bytes, alarms: tuple[Alarm, ...]) -> list[str]:
        """Return for each alarm of `data` what the independent path says of it."""
        try:
            after = self.executor.run_fresh_as(data, AFTER)
            return [self._outcome(data, alarm, after) for alarm in alarms]
        except ExecutionFaultError as error:
            return [f"fault: {str(error).strip().splitlines()[-1]}"] * len(alarms)

    def _outcome(self, data: bytes, alarm: Alarm, after: Result) -> str:
        same_step = [each for each in after.alarms if each.step == alarm.step]
        if all(each.identity != alarm.identity for each in same_step):
            said = [str(each.identity) for each in same_step]
            said += [row.verdict for row in after.steps[alarm.step : alarm.step + 1]]
            return said[0] if said else "nothing"
        alone = self.executor.run_fresh_as(data, replace(AFTER, only_reset=alarm.step))
        leak = leak_between(data, alarm.step, after, alone, self.vocabulary)
        return LEAKED if leak is not None else CONFIRMED


def collect(
    condition: Condition,
    workers: Workers,
    file: Path,
    *,
    wanted: int,
    seconds: float,
    seed: int,
) -> Tally:
    """Search until `wanted` alarms were judged or time is up; write a line for each execution.

    Goes on where an earlier run stopped, with another seed: what was judged is not judged again.
    """
    tally, seen, alarmed = read_tally(condition.name, file)
    workers.choose(condition.fault)
    court = Court(workers)
    began = time.monotonic()
    if tally.alarms >= wanted or tally.seconds >= seconds:
        return tally
    spent = tally.seconds
    search = Search(condition, workers, seed=seed + len(seen), seen=seen)
    search.alarmed = [decode(data, workers.vocabulary) for data in alarmed]
    for data, result in search.results():
        fresh = data not in seen
        seen.add(data)
        line = Tally(condition.name, executions=1, calls=result.calls)
        line.documented = int(any(row.verdict == "documented" for row in result.steps))
        alarms = result.alarms if fresh else ()
        outcomes = court.judge(data, alarms) if alarms else []
        for alarm, outcome in zip(alarms, outcomes, strict=True):
            line.outcomes[outcome] += 1
            line.verdicts[alarm.identity.verdict] += 1
        line.seconds = time.monotonic() - began + spent - tally.seconds
        tally.add(line)
        identities = [str(alarm.identity) for alarm in alarms]
        add_row(file, {**line.figures(), "data": data.hex(), "identities": identities})
        if tally.alarms >= wanted or tally.seconds >= seconds:
            return tally
    raise AssertionError("a search has no end")


def read_tally(name: str, file: Path) -> tuple[Tally, set[bytes], list[bytes]]:
    """Return what an earlier run has counted, the bytes it executed, and those that alarmed."""
    tally, seen, alarmed = Tally(name), set(), []
    for record in read_rows(file):
        data = bytes.fromhex(record.pop("data"))
        seen.add(data)
        if record.pop("identities"):
            alarmed.append(data)
        counts = {key: Counter(record.pop(key)) for key in ("outcomes", "verdicts")}
        tally.add(Tally(**record, **counts))
    return tally, seen, alarmed


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95% interval of a share, after Wilson (1927): it holds near 1 as well."""
    if not trials:
        return 0.0, 1.0
    share, spread = successes / trials, Z * Z / trials
    middle = (share + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Two faults and some quiet calls, in 50 seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write; resumed.")
@click.option("--framework", default="torch", show_default=True)
@click.option("--alarms", type=int, help="Alarms to judge in all.  [default: 1000; others 200]")
@click.option("--seconds", default=600.0, show_default=True, help="Limit for each condition.")
@click.option("--calls", type=int, help="Quiet calls to make.  [default: 20000; others 0]")
@click.option("--seed", default=1, show_default=True)
def main(
    names: tuple[str, ...],
    quick: bool,
    as_json: bool,
    folder: Path | None,
    framework: str,
    alarms: int | None,
    seconds: float,
    calls: int | None,
    seed: int,
) -> None:
    """Judge the alarms of searches, and count alarms where there must be none."""
    shown = sys.stderr if as_json else sys.stdout
    aim = aim_of(framework)
    alarms = aim.alarms if alarms is None else alarms
    calls = aim.calls if calls is None else calls
    quiet_seconds = math.inf
    if quick:
        names = names or (QUICK_CONDITIONS if framework == "torch" else ())
        seconds, quiet_seconds = min(seconds, QUICK_SECONDS), QUICK_SECONDS
    workers = Workers(framework)
    total = Tally("all")
    with tempfile.TemporaryDirectory(prefix="precision-") as temporary:
        folder = folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            everything = conditions(framework, workers.vocabulary.backends)
            chosen = [c for c in everything if not names or any(n in c.name for n in names)]
            if not chosen:
                raise click.UsageError(f"no condition is named like {' or '.join(names)}")
            tallies: dict[Condition, Tally] = {}

            def go_on(condition: Condition, wanted: int, seconds: float) -> None:
                file = folder / f"{condition.name}.jsonl"
                tally = collect(condition, workers, file, wanted=wanted, seconds=seconds, seed=seed)
                tallies[condition] = tally
                print(tally.line(), file=shown, flush=True)

            def missing() -> int:
                return max(0, alarms - sum(each.alarms for each in tallies.values()))

            for number, condition in enumerate(chosen):
                go_on(condition, math.ceil(missing() / (len(chosen) - number)), seconds)
            # Where some have too few alarms, the most fertile ones make up for it.
            for condition in sorted(chosen, key=lambda c: tallies[c].alarms, reverse=True):
                if missing() and not quick and tallies[condition].alarms:
                    go_on(condition, tallies[condition].alarms + missing(), PATIENCE * seconds)
            for tally in tallies.values():
                total.add(tally)
            workers.choose(None)
            silent = _quiet_calls(workers, folder / "quiet.json", calls, seed, quiet_seconds)
        finally:
            workers.close()
    low, high = wilson(total.outcomes[CONFIRMED], total.alarms)
    precision = total.outcomes[CONFIRMED] / total.alarms if total.alarms else 0.0
    print(total.line(), file=shown)
    print(f"verdicts: {dict(total.verdicts.most_common())}", file=shown)
    print(f"alarms in {silent['calls']} quiet calls: {silent['alarms']} (target 0)", file=shown)
    if as_json:
        figures = {"precision": precision, "interval": (low, high), "quiet": silent}
        print(json.dumps({**total.figures(), **figures}))
    enough = total.alarms >= (1 if quick else alarms) and (quick or silent["calls"] >= calls)
    print(
        f"precision {precision:.2%} of {total.alarms} alarms, 95% interval {low:.2%} to {high:.2%}"
        f" (target {aim.precision:.1%} of {1 if quick else alarms})"
    )
    sys.exit(not (enough and precision >= aim.precision and not silent["alarms"]))


def _quiet_calls(
    workers: Workers, file: Path, wanted: int, seed: int, seconds: float
) -> dict[str, Any]:
    """Return the figures of `bench/quiet.py`, made now or by an earlier run that made enough."""
    if file.exists():
        kept: dict[str, Any] = json.loads(file.read_text())
        if kept["calls"] >= wanted:
            return kept
    cheapest = workers.vocabulary.backends[0]
    measured: dict[str, Any] = quiet.measure(workers.server, wanted, seed, cheapest, seconds)
    if measured["calls"] >= wanted > 0:
        file.write_text(json.dumps(measured))
    return measured


if __name__ == "__main__":
    main()
