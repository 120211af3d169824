"""Are seeded faults found? A real campaign under each fault of `bench/faults/`, against the clock.

A fault counts as found at the first finding - confirmed in fresh processes by the campaign - that
shows once more from its bytes alone under the fault and is gone without it; what torch's own live
bugs give is not counted. The right verdict is the one that the fault declares.

    python bench/recall_faults.py                         every fault, 300 seconds each
    python bench/recall_faults.py --folder=DIR            the same, resumable: a line per fault
    python bench/recall_faults.py --quick                 two cheap faults
    python bench/recall_faults.py guard_bool rng_         faults whose names contain one of these
    python bench/recall_faults.py --sampler=random        a baseline: does guidance pay?
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))

from campaigns import Campaign
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
    cpu_seconds: float
    executions: int
    others: int
    bucket: str
    seed: int
    sampler: str = "mcmc"
    limit: float = 0.0
    slots: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """What was asked for: rows that were asked for otherwise are run again."""
        return self.name, self.seed, self.sampler, self.limit, self.slots

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
        return f"{self.name:26} {self.backend:9} {self.seconds:6.1f} s {said}"


def seek(
    fault: Fault,
    workers: Workers,
    folder: Path,
    *,
    seconds: float,
    seed: int,
    sampler: str,
    slots: int,
) -> Row:
    """Run a campaign under `fault` until it has a finding that the fault is to blame for."""
    before = _cpu_seconds()
    flags = ["--preload", str(fault.path), f"--backends={fault.backend}"]
    flags += [f"-seed={seed}", f"--sampler={sampler}", f"-workers={slots}"]
    campaign = Campaign(folder, CORPUS, flags, seconds=seconds)
    last: dict[str, object] = {}
    moment: dict[str, object] = {}
    others = 0
    found = None
    try:
        for event in campaign.events():
            if "executions" in event:
                last = event
            if event["event"] != "finding":
                continue
            file = reproducer.load(Path(str(event["path"])))
            if due(file, fault, workers):
                found, moment = file, event
                if file.identity.verdict == fault.verdict:
                    break
            others += 1
    finally:
        campaign.end()
    identity = found.identity if found else None
    last = moment or last
    return Row(
        name=fault.name,
        layer=fault.layer,
        backend=fault.backend,
        expected=fault.verdict,
        found=found is not None,
        verdict=identity.verdict if identity else "",
        effect=identity.effect if identity else "",
        seconds=float(str(last.get("seconds", seconds))),
        cpu_seconds=round(_cpu_seconds() - before, 1),
        executions=int(str(last.get("executions", 0))),
        others=others,
        bucket=str(moment.get("bucket", "")),
        seed=seed,
        sampler=sampler,
        limit=seconds,
        slots=slots,
    )


def due(file: reproducer.Reproducer, fault: Fault, workers: Workers) -> bool:
    """Whether a finding shows in a fresh process under the fault and not without it."""
    shows = []
    for chosen in (fault, None):
        workers.choose(chosen)
        result = workers.executor.run_fresh(file.data)
        shows.append(find_alarm(result, file.identity, strict=False) is not None)
    return shows == [True, False]


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_rows(path: Path) -> list[Row]:
    """Return the rows that an earlier run has written."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Row(**json.loads(line)) for line in lines]


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help=f"Only {' and '.join(QUICK)}, 20 seconds each at most.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write; resumed.")
@click.option("--seconds", default=SECONDS, show_default=True, help="Limit for each fault.")
@click.option("--seed", default=1, show_default=True)
@click.option("--sampler", type=click.Choice(list(SAMPLERS)), default="mcmc", show_default=True)
@click.option("--workers", "slots", default=2, show_default=True, help="Workers of a campaign.")
def main(
    names: tuple[str, ...],
    quick: bool,
    as_json: bool,
    folder: Path | None,
    seconds: float,
    seed: int,
    sampler: str,
    slots: int,
) -> None:
    """Find every seeded fault, or say which are not found."""
    if quick:
        names, seconds = names or QUICK, min(seconds, QUICK_SECONDS)
    faults = [f for f in all_faults() if not names or any(name in f.name for name in names)]
    if not faults:
        raise click.UsageError(f"no fault is named like {' or '.join(names)}")
    with tempfile.TemporaryDirectory(prefix="recall-") as temporary:
        folder = (folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        results = folder / "results.jsonl"
        known = {row.key: row for row in read_rows(results)}
        rows = []
        workers = Workers()
        try:
            for fault in faults:
                row = known.get((fault.name, seed, sampler, seconds, slots))
                if row is None:
                    place = Path(tempfile.mkdtemp(prefix=f"{fault.name}-", dir=folder))
                    row = seek(
                        fault,
                        workers,
                        place,
                        seconds=seconds,
                        seed=seed,
                        sampler=sampler,
                        slots=slots,
                    )
                    with results.open("a") as file:
                        file.write(json.dumps(asdict(row)) + "\n")
                rows.append(row)
                print(row.line(), file=sys.stderr if as_json else sys.stdout, flush=True)
        finally:
            workers.close()
    right = sum(row.right for row in rows)
    if as_json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "right": right}))
    print(
        f"{sampler}: seeded faults found within {seconds:g} s each with the right verdict:"
        f" {right} of {len(rows)} (target {TARGET:.0%})"
    )
    sys.exit(right < TARGET * len(rows))


if __name__ == "__main__":
    main()
