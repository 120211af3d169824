"""Are seeded faults found? A real campaign under each fault of `bench/faults/`, against the clock.

A fault counts as found at the first finding - confirmed in fresh processes by the campaign - that
shows once more from its bytes alone under the fault and is gone without it; what torch's own live
bugs give is not counted. The right verdict is the one that the fault declares.

The target is 95%, found with that verdict. Several samplers are compared by how many faults the
campaigns of a seed find, and by the mean time to one; one that was missed counts as all the time.
The target is then that mcmc finds at least as many as random, and `stateless` at most a third as
many (medians over the seeds). The shipped corpus alone shows many of the faults, whoever runs it,
so `--from-nothing` compares what samplers propose, not what they are given; and `--together` has
each campaign meet all faults at once, as a compiler has its bugs, in the time of one.

    python bench/recall_faults.py                         every fault, 300 seconds each
    python bench/recall_faults.py --folder=DIR            the same, resumable: a line per fault in
                                                          results.jsonl, and all campaigns
    python bench/recall_faults.py --quick                 two cheap faults
    python bench/recall_faults.py guard_bool rng_         faults whose names contain one of these
    python bench/recall_faults.py --samplers=mcmc,random,stateless --seeds=1,2,3,4,5 \
        --from-nothing --together --workers=1 --jobs=2 --folder=DIR            does guidance pay?
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))

from campaigns import Campaign, at_once
from rows import add_row, read_rows
from sampler import THIRD, rank_test
from sampler_plots import COLUMNS, draw
from seeded import Fault, Workers, all_faults

from rondo.findings import reproducer
from rondo.findings.bucket import find_alarm
from rondo.search.samplers import SAMPLERS

CORPUS = Path(__file__).parents[1] / "corpus"
TARGET = 0.95
"""19 of 20."""
SECONDS = 300.0
QUICK = ("guard_bool", "rng_offset_reused")
QUICK_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one fault. Seconds are the campaign's own clock at the finding."""

    name: str
    layer: str
    backend: str
    expected: str
    found: bool
    verdict: str
    effect: str
    seconds: float
    executions: int
    others: int
    bucket: str
    seed: int
    sampler: str = "mcmc"
    limit: float = 0.0
    slots: int = 0
    seeded: bool = True
    together: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """What was asked for: rows that were asked for otherwise are run again."""
        who = self.name, self.seed, self.sampler
        return *who, self.limit, self.slots, self.seeded, self.together

    @property
    def right(self) -> bool:
        """Whether it was found with the verdict that it declares."""
        return self.found and self.verdict == self.expected

    def line(self) -> str:
        """Return a row of the printed table."""
        if not self.found:
            said = f"NOT FOUND after {self.executions} executions, {self.others} other findings"
        else:
            wrong = "" if self.right else f" WRONG VERDICT, {self.expected} expected"
            said = f"{self.verdict}{wrong}: {self.bucket}"
        who = f"{self.sampler:9} {self.seed:2} {self.name:26} {self.backend:9}"
        return f"{who} {self.seconds:6.1f} s {said}"


@dataclass(frozen=True, slots=True)
class Task:
    """A campaign that is asked for, under these faults at once."""

    faults: tuple[Fault, ...]
    sampler: str
    seed: int
    limit: float
    slots: int
    seeded: bool

    @property
    def keys(self) -> list[tuple[object, ...]]:
        """As those of its rows, a row for each fault."""
        how = self.limit, self.slots, self.seeded, len(self.faults)
        return [(fault.name, self.seed, self.sampler, *how) for fault in self.faults]


def seek(task: Task, workers: Workers, folder: Path) -> list[Row]:
    """Run a campaign under faults until it has a finding for each that the fault is to blame for.

    Who is to blame is asked while the campaign runs, in a process of its own.
    """
    seconds = task.limit
    tiers = sorted({fault.backend for fault in task.faults})
    flags = [f"--backends={','.join(tiers)}", f"-seed={task.seed}", f"--sampler={task.sampler}"]
    flags += [f"-workers={task.slots}"]
    for fault in task.faults:
        flags += ["--preload", str(fault.path)]
    seeds = CORPUS if task.seeded else folder / "no-seeds"
    seeds.mkdir(exist_ok=True)
    campaign = Campaign(folder, seeds, flags, seconds=seconds)
    last: dict[str, object] = {}
    found: dict[str, tuple[reproducer.Reproducer, dict[str, object]]] = {}
    right: set[str] = set()
    others = 0
    try:
        for event in campaign.events():
            if "executions" in event:
                last = event
            if event["event"] != "finding":
                continue
            file = reproducer.load(Path(str(event["path"])))
            blamed = [f for f in task.faults if f.name not in right and due(file, f, workers)]
            for fault in blamed:
                found[fault.name] = file, event
                if file.identity.verdict == fault.verdict:
                    right.add(fault.name)
            if len(right) == len(task.faults):
                break
            others += not blamed
    finally:
        campaign.end()
    return [_row(task, fault, found.get(fault.name), last, others) for fault in task.faults]


def _row(
    task: Task,
    fault: Fault,
    found: tuple[reproducer.Reproducer, dict[str, object]] | None,
    last: dict[str, object],
    others: int,
) -> Row:
    identity = found[0].identity if found else None
    moment = found[1] if found else {}
    last = moment or last
    return Row(
        name=fault.name,
        layer=fault.layer,
        backend=fault.backend,
        expected=fault.verdict,
        found=found is not None,
        verdict=identity.verdict if identity else "",
        effect=identity.effect if identity else "",
        seconds=float(str(last.get("seconds", task.limit))),
        executions=int(str(last.get("executions", 0))),
        others=others,
        bucket=str(moment.get("bucket", "")),
        seed=task.seed,
        sampler=task.sampler,
        limit=task.limit,
        slots=task.slots,
        seeded=task.seeded,
        together=len(task.faults),
    )


def due(file: reproducer.Reproducer, fault: Fault, workers: Workers) -> bool:
    """Whether a finding shows in a fresh process under the fault and not without it."""
    shows = []
    for chosen in (fault, None):
        workers.choose(chosen)
        result = workers.executor.run_fresh(file.data)
        shows.append(find_alarm(result, file.identity, strict=False) is not None)
    return shows == [True, False]


def run_all(tasks: list[Task], folder: Path, jobs: int) -> Iterator[Row]:
    """Return a row for each task as it ends; those that `folder` holds are not run again."""
    results = folder / "results.jsonl"
    done = {row.key: row for row in (Row(**each) for each in read_rows(results))}
    ended = [task for task in tasks if all(key in done for key in task.keys)]
    yield from (done[key] for task in ended for key in task.keys)
    left = [task for task in tasks if task not in ended]
    if not left:
        return
    campaigns = folder / "campaigns"
    campaigns.mkdir(exist_ok=True)
    writing = threading.Lock()
    idle: SimpleQueue[Workers] = SimpleQueue()
    made = [Workers() for _ in range(jobs)]
    for workers in made:
        idle.put(workers)

    def run(task: Task) -> list[Row]:
        what = task.faults[0].name if len(task.faults) == 1 else "together"
        name = f"{what}-{task.sampler}-{task.seed}-"
        workers = idle.get()
        try:
            rows = seek(task, workers, Path(tempfile.mkdtemp(prefix=name, dir=campaigns)))
        finally:
            idle.put(workers)
        with writing:
            for row in rows:
                add_row(results, asdict(row))
        return rows

    try:
        for rows in at_once(run, left, jobs):
            yield from rows
    finally:
        for workers in made:
            workers.close()


def found_by(rows: list[Row], sampler: str) -> list[int]:
    """Return how many faults the campaigns of `sampler` found, seed by seed."""
    seeds = sorted({row.seed for row in rows})
    own = [row for row in rows if row.sampler == sampler]
    return [sum(row.right for row in own if row.seed == seed) for seed in seeds]


def mean_time(rows: list[Row], sampler: str) -> float:
    """Return the mean seconds to a fault; one that was missed counts as the whole time."""
    return statistics.mean(
        row.seconds if row.right else row.limit for row in rows if row.sampler == sampler
    )


def judge(rows: list[Row], samplers: list[str]) -> tuple[dict[str, Any], bool]:
    """Return the figures of each sampler, and whether the target holds."""
    found = {sampler: found_by(rows, sampler) for sampler in samplers}
    medians = {sampler: statistics.median(counts) for sampler, counts in found.items()}
    figures: dict[str, Any] = {
        sampler: {
            "found": found[sampler],
            "median": medians[sampler],
            "mean seconds": round(mean_time(rows, sampler), 1),
        }
        for sampler in samplers
    }
    of = len({row.name for row in rows})
    first, *others = sorted(samplers, key=lambda each: each != "mcmc")
    if first != "mcmc" or not others:
        return figures, medians[first] >= TARGET * of
    good = medians[first] > 0
    for sampler in others:
        figures[sampler]["p"] = round(rank_test(found[first], found[sampler]), 4)
        share = THIRD if sampler == "stateless" else 1.0
        good = good and medians[sampler] <= share * medians[first]
    return figures, good


def curves(rows: list[Row], samplers: list[str]) -> list[dict[str, Any]]:
    """Return what `sampler_plots.draw` draws: faults found over the time of their campaigns."""
    runs = []
    for sampler, seed in product(samplers, sorted({row.seed for row in rows})):
        own = [row for row in rows if (row.sampler, row.seed) == (sampler, seed)]
        # What is confirmed when the time is over is written a moment later.
        faults = {row.name: min(row.seconds, row.limit) for row in own if row.right}
        seconds = [0.0, *sorted(faults.values()), own[0].limit]
        moments = [[each, each, *[0] * (len(COLUMNS) - 2)] for each in seconds]
        runs.append({"sampler": sampler, "seed": seed, "moments": moments, "faults": faults})
    return runs


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help=f"Only {' and '.join(QUICK)}, 20 seconds each at most.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write; resumed.")
@click.option("--seconds", default=SECONDS, show_default=True, help="Limit for each fault.")
@click.option("--seeds", default="1", show_default=True, help="Seeds, with commas between.")
@click.option("--samplers", default="mcmc", show_default=True, help="With commas between.")
@click.option("--workers", "slots", default=2, show_default=True, help="Workers of a campaign.")
@click.option("--from-nothing", is_flag=True, help="Begin from no seeds.")
@click.option("--together", is_flag=True, help="All faults at once in each campaign.")
@click.option("--jobs", default=1, show_default=True, help="Campaigns at a time.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the curves into this file.")
def main(
    names: tuple[str, ...],
    quick: bool,
    as_json: bool,
    folder: Path | None,
    seconds: float,
    seeds: str,
    samplers: str,
    slots: int,
    from_nothing: bool,
    together: bool,
    jobs: int,
    plot: Path | None,
) -> None:
    """Find every seeded fault, or say which are not found."""
    if quick:
        names, seconds = names or QUICK, min(seconds, QUICK_SECONDS)
    faults = [f for f in all_faults() if not names or any(name in f.name for name in names)]
    if not faults:
        raise click.UsageError(f"no fault is named like {' or '.join(names)}")
    chosen = list(dict.fromkeys(samplers.split(",")))
    if {*chosen} - {*SAMPLERS} or not all(seed.isdecimal() for seed in seeds.split(",")):
        raise click.UsageError("samplers are " + ", ".join(SAMPLERS) + "; seeds whole numbers")
    # Seed by seed, so that a run that is ended early has compared all samplers as far as it is, and
    # samplers side by side, so that what else the machine does falls on all.
    tasks = [
        Task(group, sampler, seed, seconds, slots, not from_nothing)
        for seed in dict.fromkeys(map(int, seeds.split(",")))
        for group in ([tuple(faults)] if together else [(fault,) for fault in faults])
        for sampler in chosen
    ]
    rows = []
    with tempfile.TemporaryDirectory(prefix="recall-") as temporary:
        folder = (folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        for row in run_all(tasks, folder, jobs):
            rows.append(row)
            print(row.line(), file=sys.stderr if as_json else sys.stdout, flush=True)
    figures, good = judge(rows, chosen)
    if as_json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "samplers": figures}))
    told = "; ".join(
        f"{sampler} {row['median']:g} of {len(faults)} (mean {row['mean seconds']:.0f} s)"
        for sampler, row in figures.items()
    )
    ranks = "".join(
        f", p {row['p']:g} for mcmc above {sampler}"
        for sampler, row in figures.items()
        if "p" in row
    )
    goal = "random at most as many, stateless a third" if ranks else f"{TARGET:.0%}"
    if plot is not None:
        draw(curves(rows, chosen), plot)
    time = f"{seconds:g} s" + (", all at once" if together else " each")
    print(f"seeded faults found within {time}: {told}{ranks} (target {goal})")
    sys.exit(not good)


if __name__ == "__main__":
    main()
