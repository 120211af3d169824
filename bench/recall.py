"""How much of the public record does a campaign rediscover from clean seeds?

Campaigns of each sampler start from the shipped corpus, which shows nothing, and run on two workers
for as long as asked. What each files - confirmed in fresh processes and shortened by the campaign -
is located in fresh processes and compared with `recall_record.toml`: a finding is a bug of the
record when the constructs that are left, the exposing step and the located layer are that bug's.
Rows that the compiler documents as rules are shown, and not counted: Rondo never files them.

    python bench/recall.py --folder=DIR               60 minutes for each sampler; restartable
    python bench/recall.py --minutes=10 --seeds=1,2   shorter, twice
    python bench/recall.py --quick                    the back end eager alone, some seconds each

A sampler's figure is the mean over its seeds. What was missed is said with a reason: no kept
sequence had what it takes, or some had it and none exposed the bug.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))

from campaigns import Campaign
from rows import add_row, read_rows

from rondo.campaign.locating import Laboratory
from rondo.campaign.pool import Server
from rondo.errors import RondoError
from rondo.findings import reproducer
from rondo.findings.reproducer import Reproducer
from rondo.search.samplers import SAMPLERS
from rondo.sequences.codec import CodecError, decode_strict

CORPUS = Path(__file__).parents[1] / "corpus" / "torch"
RECORD = Path(__file__).with_name("recall_record.toml")
TARGET = 0.6
STATELESS = 0.1
"""What is near zero: sequences of single calls can expose nothing that needs two."""
QUICK_SECONDS = 12.0
QUICK_SAMPLERS = ("mcmc", "stateless")
LOCATING = 300.0
"""What one experiment may take: Inductor's first kernel compiles for half a minute."""


@dataclass(frozen=True, slots=True)
class Known:
    """A bug of the record, and by what a finding is recognised as that bug."""

    name: str
    report: str
    kind: str
    constructs: tuple[str, ...]
    exposing: tuple[str, ...]
    layers: tuple[str, ...]
    backend: str
    documented: bool = False

    def like(self, found: Reproducer) -> bool:
        """Whether constructs and exposing step are this bug's, whatever the layer is."""
        constructs = set(found.decoded["constructs"])
        return (
            bool(constructs)
            and constructs <= {*self.constructs}
            and any(fnmatchcase(found.identity.exposing, pattern) for pattern in self.exposing)
        )

    def matches(self, found: Reproducer, layer: str) -> bool:
        """Whether `found`, whose located layer is `layer` ("": none was), is this bug."""
        placed = layer in self.layers if layer else found.identity.backend == self.backend
        return found.identity.verdict == "stateful" and self.like(found) and placed


def read_record(path: Path = RECORD) -> list[Known]:
    """Return the bugs of the record."""
    rows = tomllib.loads(path.read_text())["bug"]
    return [
        Known(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}) for row in rows
    ]


@dataclass(frozen=True, slots=True)
class Found:
    """A finding of a campaign: its bucket, the campaign's clock, its located layer, what it is.

    `constructs` are those that are left in it.
    """

    bucket: str
    seconds: float
    executions: int
    layer: str
    bug: str
    constructs: tuple[str, ...] = ()


@dataclass(slots=True)
class Row:
    """One campaign: what it found, and why it missed the rest of the record."""

    sampler: str
    seed: int
    seconds: float
    backends: str = ""
    executions: int = 0
    behaviours: int = 0
    time_shares: dict[str, float] = field(default_factory=dict)
    findings: list[Found] = field(default_factory=list)
    missed: dict[str, str] = field(default_factory=dict)

    def first(self, name: str) -> Found | None:
        """Return the first finding that is the bug called `name`."""
        return next((each for each in self.findings if each.bug == name), None)


class Court:
    """Says of findings which bug of the record they are; locates each bucket once.

    Its server starts with the first question, when the first campaign is over: until then it would
    only take the campaign's time.
    """

    def __init__(self, record: list[Known]) -> None:
        self.record = record
        self._layers: dict[str, str] = {}
        self._started: Server | None = None

    @property
    def server(self) -> Server:
        """The server whose workers experiment."""
        self._started = self._started or Server("torch")
        return self._started

    def close(self) -> None:
        """End the server if it was needed."""
        if self._started is not None:
            self._started.close()

    def judge(self, bucket: str, found: Reproducer) -> tuple[str, str]:
        """Return the located layer of `found` and the bug that it is, "" where there is none.

        Only what a bug of the record could be is located: a minute of experiments for the rest
        would say nothing that is asked here.
        """
        if not any(known.like(found) for known in self.record):
            return "", ""
        if bucket not in self._layers:
            self._layers[bucket] = self._layer(found)
        layer = self._layers[bucket]
        same = (known.name for known in self.record if known.matches(found, layer))
        return layer, next(same, "")

    def _layer(self, found: Reproducer) -> str:
        try:
            laboratory = Laboratory.of(self.server, LOCATING)
            return laboratory.locate(found.data, found.alarm).layer
        except RondoError:
            return ""

    def why_missed(self, known: Known, row: Row, folder: Path) -> str:
        """Return why a campaign did not find `known`: from what it kept and what it filed."""
        if known.documented:
            return "a documented rule, never filed"
        if row.backends and known.backend not in row.backends.split(","):
            return f"{known.backend} was not run"
        for found in row.findings:
            if not found.bug and {*found.constructs} & {*known.constructs}:
                layer = f", located in {found.layer}" if found.layer else ""
                return f"found with another cause: {found.bucket}{layer}"
        kept, there = 0, 0
        names = self.server.vocabulary.backends
        for path in (folder / "corpus").glob("*"):
            try:
                sequence = decode_strict(path.read_bytes(), self.server.vocabulary)
            except (CodecError, OSError):
                continue
            if {*sequence.subject.constructs} & {*known.constructs}:
                kept += 1
                there += names.index(known.backend) <= sequence.options.backend
        if not kept:
            return f"no kept sequence holds {' or '.join(known.constructs)}"
        if not there:
            return f"{kept} kept sequences hold it, none on {known.backend} or above"
        return f"{there} kept sequences hold it on {known.backend} or above; none exposed it"


def campaign(
    court: Court, folder: Path, sampler: str, seed: int, *, seconds: float, backends: str
) -> Row:
    """Run one campaign to its end and judge what it filed."""
    row = Row(sampler, seed, seconds, backends)
    flags = [f"--sampler={sampler}", f"-seed={seed}", "-workers=2"]
    flags += [f"--backends={backends}"] if backends else []
    running = Campaign(folder, CORPUS, flags, seconds=seconds)
    filed: list[dict[str, Any]] = []
    try:
        for event in running.events():
            row.executions = event.get("executions", row.executions)
            row.behaviours = event.get("behaviours", row.behaviours)
            row.time_shares = event.get("time_shares", row.time_shares)
            if event["event"] == "finding":
                filed.append(event)
    finally:
        running.end()
    if not row.executions:
        raise click.ClickException("the campaign ran nothing")
    # Judged once it has ended: locating beside it would take the time of its workers.
    for event in filed:
        path = Path(str(event["path"]))
        found = reproducer.load(path)
        layer, bug = court.judge(str(event["bucket"]), found)
        seen = (float(str(event["seconds"])), int(str(event["executions"])))
        constructs = tuple(found.decoded["constructs"])
        row.findings.append(Found(str(event["bucket"]), *seen, layer, bug, constructs))
    for known in court.record:
        if row.first(known.name) is None:
            row.missed[known.name] = court.why_missed(known, row, folder)
    return row


def read_campaigns(path: Path) -> list[Row]:
    """Return the campaigns that an earlier run has finished."""
    rows = []
    for told in read_rows(path):
        findings = [
            Found(**{**each, "constructs": tuple(each.get("constructs", ()))})
            for each in told["findings"]
        ]
        rows.append(Row(**{"backends": "unknown", **told, "findings": findings}))
    return rows


def recall(rows: list[Row], counted: list[Known]) -> float:
    """Return the share of the counted bugs that a campaign finds, on average."""
    if not rows or not counted:
        return 0.0
    found = sum(row.first(known.name) is not None for row in rows for known in counted)
    return found / (len(rows) * len(counted))


def soonest(rows: list[Row], counted: list[Known]) -> float:
    """Return the mean seconds to a counted bug; one that was missed counts as the whole time."""
    times = [
        found.seconds if (found := row.first(known.name)) else row.seconds
        for row in rows
        for known in counted
    ]
    return sum(times) / len(times) if times else 0.0


def print_table(rows: list[Row], record: list[Known]) -> None:
    """Print for each bug when each campaign found it, and below why it was missed."""
    head = [f"{row.sampler}/{row.seed}" for row in rows]
    print(f"{'bug':34} " + " ".join(f"{name:>12}" for name in head))
    for known in record:
        cells = []
        for row in rows:
            found = row.first(known.name)
            missed = "documented" if known.documented else "-"
            cells.append(f"{found.seconds / 60:.1f} min" if found else missed)
        print(f"{known.name:34} " + " ".join(f"{cell:>12}" for cell in cells))
    print(f"{'executions':34} " + " ".join(f"{row.executions:>12}" for row in rows))
    print(f"{'behaviours':34} " + " ".join(f"{row.behaviours:>12}" for row in rows))
    triage = [f"{row.time_shares.get('triage', 0.0):.0%}" for row in rows]
    print(f"{'time that triage took':34} " + " ".join(f"{share:>12}" for share in triage))
    others = [sum(not found.bug for found in row.findings) for row in rows]
    print(f"{'findings that are no bug of these':34} " + " ".join(f"{n:>12}" for n in others))
    for row in rows:
        for name, why in row.missed.items():
            print(f"{row.sampler}/{row.seed} missed {name}: {why}")


@click.command()
@click.option("--minutes", default=60.0, show_default=True, help="For each campaign.")
@click.option("--seeds", default="1", show_default=True, help="Seeds, with commas between.")
@click.option("--samplers", default=",".join(SAMPLERS), show_default=True)
@click.option("--backends", default="", help="Only these back ends.  [all]")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write; restartable.")
@click.option("--quick", is_flag=True, help="Eager alone, two samplers, some seconds each.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def main(
    minutes: float,
    seeds: str,
    samplers: str,
    backends: str,
    folder: Path | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Count the bugs of the public record that campaigns find from clean seeds."""
    seconds = minutes * 60
    if quick:
        seconds, seeds, samplers, backends = QUICK_SECONDS, "1", ",".join(QUICK_SAMPLERS), "eager"
    unknown = {*samplers.split(",")} - {*SAMPLERS}
    if unknown or not all(seed.isdecimal() for seed in seeds.split(",")):
        raise click.UsageError("samplers are " + ", ".join(SAMPLERS) + "; seeds whole numbers")
    record = read_record()
    counted = [known for known in record if not known.documented]
    if backends:
        counted = [known for known in counted if known.backend in backends.split(",")]
    shown = sys.stderr if as_json else sys.stdout
    with tempfile.TemporaryDirectory(prefix="recall-") as temporary:
        base = (folder or Path(temporary)).absolute()
        base.mkdir(parents=True, exist_ok=True)
        rows = run_all(record, base, samplers, seeds, seconds=seconds, backends=backends)
    of = {name: [row for row in rows if row.sampler == name] for name in samplers.split(",")}
    shares = {name: recall(of[name], counted) for name in of}
    if as_json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "recall": shares}))
    else:
        print_table(rows, record)
    times = {name: soonest(of[name], counted) for name in of}
    told = ", ".join(f"{name} {shares[name]:.0%} (mean {times[name]:.0f} s)" for name in of)
    goal, good = verdict(shares, times, quick=quick)
    print(f"recall of {len(counted)} live bugs after {seconds:g} s: {told} (target: {goal})")
    shown.flush()
    sys.exit(not good)


def run_all(
    record: list[Known], base: Path, samplers: str, seeds: str, *, seconds: float, backends: str
) -> list[Row]:
    """Return a row for each campaign that is asked for; those that `base` holds are not run."""
    results = base / "results.jsonl"
    done = {
        (row.sampler, row.seed, row.seconds, row.backends): row for row in read_campaigns(results)
    }
    rows = []
    court = Court(record)
    try:
        # Seed by seed, so that a run that is ended early has compared all samplers as far as it is.
        for seed in map(int, seeds.split(",")):
            for sampler in samplers.split(","):
                row = done.get((sampler, seed, seconds, backends))
                if row is None:
                    place = Path(tempfile.mkdtemp(prefix=f"{sampler}-{seed}-", dir=base))
                    row = campaign(court, place, sampler, seed, seconds=seconds, backends=backends)
                    add_row(results, asdict(row))
                rows.append(row)
    finally:
        court.close()
    return rows


def verdict(shares: dict[str, float], times: dict[str, float], *, quick: bool) -> tuple[str, bool]:
    """Return what is wanted in words, and whether it holds.

    "Ahead" is more bugs, or as many in less time. In `--quick` nothing but the harness can be
    judged: a bug is found by a search over states, and none by one over single calls.
    """
    if quick:
        return "mcmc some, stateless none", shares["mcmc"] > 0 == shares["stateless"]
    goal = f"mcmc at least {TARGET:.0%} and ahead of random, stateless at most {STATELESS:.0%}"
    mcmc = shares.get("mcmc", 0.0)
    rank = {name: (shares[name], -times[name]) for name in shares}
    ahead = "random" not in rank or rank.get("mcmc", (0.0, 0.0)) > rank["random"]
    return goal, mcmc >= TARGET and ahead and shares.get("stateless", 0.0) <= STATELESS


if __name__ == "__main__":
    main()
