"""Does guidance pay? Whole campaigns of every sampler, with equal seeds, corpora and time.

For each seed, campaigns of `mcmc`, `random` and `stateless` run one after the other (so that what
else the machine does falls on all of them) until each has had the same time. Recorded at every
status line: executions, behaviours, compiler lines, findings (confirmed, shortened, bucketed), and
live bugs: those of the public record that findings are, as `recall.py` recognises them where it has
located none. With --preload a fault is planted, and findings are of it too.

Time is CPU seconds of the campaign's processes, read from outside (driver, server, workers and the
compilers that they start), from the end of the framework's import on; seconds of the wall are
recorded as well, and --clock=wall stops by them. On a quiet machine with one worker both are
the same; on a shared one only the first is fair.

Printed: medians with the range over seeds; the time mcmc needs to reach what random has at its end
(median of random's finals), as a share of that time; for final counts an exact rank test
(Mann-Whitney by enumeration, one-sided: mcmc has more); and for each live bug how many campaigns of
a sampler found it, and when.

The target is met when mcmc has random's behaviours in at most 60% of its time and finds at least as
many live bugs, and `stateless` at most a third as many as mcmc. `recall_faults.py` compares
samplers on seeded faults.

With `nnsmith` among --samplers a one-shot generator from outside takes part (`outside.py`), for
which `pip install -e '.[bench]'` is needed.

    python bench/sampler.py                              5 seeds, 20 minutes each: five hours
    python bench/sampler.py --samplers=mcmc,random,stateless,nnsmith
    python bench/sampler.py --folder=DIR                 the same, restartable: a line per run
    python bench/sampler.py --folder=DIR --jobs=2        two campaigns at a time, one to a core
    python bench/sampler.py --minutes=3 --seeds=3 --backends=eager
    python bench/sampler.py --folder=DIR --plot=docs/images/sampler.svg
    python bench/sampler.py --quick                      one seed, seconds: a smoke test
"""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import psutil

sys.path.insert(0, str(Path(__file__).parent))

from campaigns import at_once
from recall import Known, read_record
from rows import add_row, read_rows
from sampler_plots import COLUMNS, draw

from rondo.errors import RondoError
from rondo.findings import reproducer
from rondo.findings.reproducer import Reproducer

ROOT = Path(__file__).parents[1]
SAMPLERS = ("mcmc", "random", "stateless")
OUTSIDE = "nnsmith"
"""A generator from outside, which `outside.py` runs as a campaign would."""
COUNTS = ("behaviours", "lines", "findings", "live")
TARGET = 0.6
"""mcmc reaches what random has in the end in at most this share of the time."""
THIRD = 1 / 3
"""`stateless` finds at most this share of what mcmc finds."""
LOOK = 0.2
"""Seconds between two looks at the processes' CPU times."""
GRACE = 60.0
QUICK_SECONDS = 7.0
RUNS = "runs.jsonl"

Run = dict[str, Any]
"""What one campaign did: its settings under `key`, and `moments`, one row of figures each."""


# -------------------------------------------------------------------------------------- running


class Clock(threading.Thread):
    """CPU and wall seconds of a process and all that it started; interrupts it when time is up."""

    def __init__(self, process: subprocess.Popen[str], budget: float, kind: str) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(process.pid)
        self._budget = budget
        self._kind = kind
        self._zero = (0.0, 0.0)
        self._begun = False
        self.ended = threading.Event()
        self.up = False

    def begin(self) -> None:
        """Count from now on."""
        self._zero = (_cpu_of(self._root), time.monotonic())
        self._begun = True

    def read(self) -> tuple[float, float]:
        """Return CPU and wall seconds since `begin`."""
        return _cpu_of(self._root) - self._zero[0], time.monotonic() - self._zero[1]

    def run(self) -> None:
        """Look until the time is up, then interrupt."""
        while not self.ended.wait(LOOK):
            if not self._begun:
                continue
            cpu, wall = self.read()
            if (cpu if self._kind == "cpu" else wall) >= self._budget:
                self.up = True
                with suppress(psutil.Error):
                    self._root.send_signal(signal.SIGINT)
                return


def _cpu_of(root: psutil.Process) -> float:
    """Return the CPU seconds of `root`, of all below it, and of those that have ended."""
    total = 0.0
    with suppress(psutil.Error):
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                total += sum(process.cpu_times()[:4])
    return total


def command_of(sampler: str, seed: int, settings: Run, folder: Path) -> list[str]:
    """Return the command line of a campaign that writes below `folder`."""
    shared = [f"--lines={int(settings['lines'])}"]
    shared += [f"--backends={settings['backends']}"] if settings["backends"] else []
    if sampler == OUTSIDE:
        return [sys.executable, str(ROOT / "bench" / "outside.py"), f"--seed={seed}", *shared]
    command = [sys.executable, "-m", "rondo.fuzz", str(folder / "corpus")]
    command += [str(ROOT / "corpus")] if settings["corpus"] else []
    command += [f"--sampler={sampler}", f"-seed={seed}", f"-artifact_prefix={folder / 'found'}"]
    command += ["--json", f"-fork={settings['workers']}", *shared]
    command += [f"--architectures={settings['architectures']}"] if settings["architectures"] else []
    return command + [f"--preload={path}" for path in settings["preload"]]


def campaign(sampler: str, seed: int, settings: Run) -> Run:
    """Run one campaign and return its record. Raises ClickException when it fails."""
    known = [each for each in read_record() if not each.documented]
    with tempfile.TemporaryDirectory(prefix="rondo-sampler-") as place:
        folder = Path(place)
        (folder / "corpus").mkdir()
        command = command_of(sampler, seed, settings, folder)
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=(folder / "errors").open("w"),
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        clock = Clock(process, settings["seconds"], settings["clock"])
        clock.start()
        moments = []
        hits: dict[str, float] = {}
        live: dict[str, float] = {}
        spent: dict[str, float] = {}
        try:
            assert process.stdout is not None
            for line in process.stdout:
                told = json.loads(line)
                if told.get("event") == "info" and " seeds" in told["text"]:
                    clock.begin()
                if "executions" not in told:
                    continue
                cpu, wall = clock.read()
                spent = told["time_shares"]
                if told["event"] == "finding":
                    hits.setdefault(told["bucket"], cpu)
                    if "path" in told:  # NNSmith's have no file
                        for name in bugs_of(reproducer.load(Path(told["path"])), known):
                            live.setdefault(name, cpu)
                if told["event"] == "done":  # shutting down is no search
                    cpu, wall = moments[-1][:2] if moments else (cpu, wall)
                counts = (told["behaviours"], told["lines"], told["findings"])
                row = (told["executions"], *counts, len(live))
                moments.append([round(cpu, 2), round(wall, 2), *row])
            if process.wait(GRACE) not in (0, 128 + signal.SIGINT):
                said = (folder / "errors").read_text(errors="replace").strip()
                raise click.ClickException(f"{sampler} with seed {seed}: {said[-500:]}")
        finally:
            clock.ended.set()
            if process.poll() is None:
                process.terminate()
                process.wait(GRACE)
    if not clock.up or not moments:  # Ctrl-C reaches the campaign too
        raise click.ClickException(f"{sampler} with seed {seed} ended before its time")
    run = {"sampler": sampler, "seed": seed, "moments": moments, "buckets": hits, "live": live}
    return {**run, "time_shares": spent, **settings}


def bugs_of(found: Reproducer, record: list[Known]) -> list[str]:
    """Return the names of the bugs of the record that a finding is."""
    return [known.name for known in record if known.matches(found, "")]


def all_runs(
    path: Path, seeds: range, settings: Run, samplers: tuple[str, ...], jobs: int = 1
) -> list[Run]:
    """Return every campaign that is asked for; those that `path` holds are not run again."""
    plain = json.loads(json.dumps(settings))
    alike = [each for each in read_rows(path) if "live" in each and plain.items() <= each.items()]
    done = {(each["sampler"], each["seed"]): each for each in alike}
    writing = threading.Lock()

    def run(asked: tuple[str, int]) -> None:
        sampler, seed = asked
        record = campaign(sampler, seed, plain)
        last = {column: finals([record], sampler, column)[0] for column in COLUMNS}
        spent = ", ".join(f"{k} {share:.0%}" for k, share in record["time_shares"].items())
        with writing:
            add_row(path, record)
            done[asked] = record
            click.echo(f"{sampler:10} seed {seed}: {last} ({spent})", err=True)

    asked = [(sampler, seed) for seed in seeds for sampler in samplers]
    for _ in at_once(run, [each for each in asked if each not in done], jobs):
        pass
    return [done[each] for each in asked]


# ------------------------------------------------------------------------------------- judging


def finals(runs: list[Run], sampler: str, column: str) -> list[float]:
    """Return what each campaign of `sampler` had in the end."""
    index = COLUMNS.index(column)
    return [run["moments"][-1][index] for run in runs if run["sampler"] == sampler]


def time_to(run: Run, goal: float, *, axis: str, column: str = "behaviours") -> float:
    """Return when `run` had `goal`, along `axis`; infinity if never."""
    along, index = COLUMNS.index(axis), COLUMNS.index(column)
    return next((row[along] for row in run["moments"] if row[index] >= goal), math.inf)


def shares(runs: list[Run], axis: str, column: str = "behaviours") -> list[float]:
    """Return, for each mcmc campaign, when it had random's final count, as a share of its end."""
    goal = statistics.median(finals(runs, "random", column))
    end = statistics.median(finals(runs, "random", axis))
    guided = [run for run in runs if run["sampler"] == "mcmc"]
    return [time_to(run, goal, axis=axis, column=column) / end for run in guided]


def rank_test(more: Sequence[float], less: Sequence[float]) -> float:
    """Return the exact one-sided p of Mann-Whitney: that chance ranks `more` so high.

    Every way of dealing the pooled values is counted, ties as half a win: at most a few hundred
    ways for five seeds each.
    """
    pooled = [*more, *less]

    def wins(chosen: tuple[int, ...]) -> float:
        rest = [pooled[n] for n in range(len(pooled)) if n not in chosen]
        mine = [pooled[n] for n in chosen]
        return sum((a > b) + 0.5 * (a == b) for a in mine for b in rest)

    seen = wins(tuple(range(len(more))))
    deals = [wins(chosen) for chosen in combinations(range(len(pooled)), len(more))]
    return sum(deal >= seen for deal in deals) / len(deals)


def judge(runs: list[Run], samplers: tuple[str, ...]) -> Run:
    """Return all figures."""
    figures: Run = {"seeds": len({run["seed"] for run in runs}), "samplers": {}}
    columns = shown(runs)
    for sampler in samplers:
        figures["samplers"][sampler] = {
            column: _spread(finals(runs, sampler, column)) for column in columns
        }
        if sampler != "mcmc":
            figures["samplers"][sampler]["p"] = {
                column: round(
                    rank_test(finals(runs, "mcmc", column), finals(runs, sampler, column)), 4
                )
                for column in columns
                if column in COUNTS
            }
    figures["share"] = {axis: _spread(shares(runs, axis)) for axis in ("cpu", "wall", "executions")}
    figures["live"] = times(runs, samplers)
    return figures


def shown(runs: list[Run]) -> list[str]:
    """Return the columns that some run has something of."""
    return [c for c in COLUMNS if any(any(finals(runs, r["sampler"], c)) for r in runs)]


def times(runs: list[Run], samplers: tuple[str, ...]) -> dict[str, Run]:
    """Return, for each live bug that some run found, how many runs of each sampler did, and when.

    The time is the median over all runs of a sampler, None where most of them missed it.
    """
    names = sorted({name for run in runs for name in run.get("live", ())})
    figures: dict[str, Run] = {}
    for name in names:
        figures[name] = {}
        for sampler in samplers:
            own = [run.get("live", {}).get(name) for run in runs if run["sampler"] == sampler]
            when = statistics.median(math.inf if each is None else each for each in own)
            figures[name][sampler] = {
                "found": sum(each is not None for each in own),
                "of": len(own),
                "median": when if when < math.inf else None,
            }
    return figures


def _spread(values: list[float]) -> dict[str, float]:
    """Return median and range."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def table(figures: Run) -> list[str]:
    """Return the figures as lines for people."""
    columns = [name for name in next(iter(figures["samplers"].values())) if name != "p"]
    lines = [f"{'':12}" + "".join(f"{name:>24}" for name in columns)]
    for sampler, row in figures["samplers"].items():
        cells = [
            f"{row[c]['median']:.0f} ({row[c]['low']:.0f}-{row[c]['high']:.0f})" for c in columns
        ]
        lines.append(f"{sampler:12}" + "".join(f"{cell:>24}" for cell in cells))
    for sampler, row in figures["samplers"].items():
        if "p" in row:
            told = ", ".join(f"{column} {p}" for column, p in row["p"].items())
            lines.append(f"rank test, mcmc above {sampler}: p = {told}")
    for axis, row in figures["share"].items():
        lines.append(
            f"mcmc has random's behaviours after {row['median']:.2f}"
            f" ({row['low']:.2f}-{row['high']:.2f}) of its {axis}"
        )
    for name, row in figures["live"].items():
        cells = [f"{sampler} {_when(each)}" for sampler, each in row.items()]
        lines.append(f"{name:28} " + "   ".join(f"{cell:28}" for cell in cells).rstrip())
    return lines


def _when(row: Run) -> str:
    """Return how many runs found a bug, and the median time."""
    told = f", {row['median']:.0f} s" if row["median"] is not None else ""
    return f"{row['found']} of {row['of']}{told}"


def verdicts(figures: Run, clock: str, *, bugs: bool = True) -> list[tuple[str, bool]]:
    """Return each part of the target: what was seen and what is asked, and whether it holds.

    Without `bugs` only behaviours are judged: seconds are too few for a bug.
    """
    share = figures["share"][clock]["median"]
    when = f"after {share:.0%} of its time" if share < math.inf else "never"
    parts = [(f"mcmc has random's behaviours {when} (target <= {TARGET:.0%})", share <= TARGET)]
    if not bugs:
        return parts
    samplers = figures["samplers"]
    live = {sampler: row.get("live", {}).get("median", 0) for sampler, row in samplers.items()}
    ours, least = live["mcmc"], live["random"]
    found = f"live bugs: {ours:g} (target some, and >= random's {least:g})"
    parts.append((found, ours >= max(least, 1)))
    if "stateless" in live:
        plain, most = live["stateless"], ours * THIRD
        parts.append((f"stateless {plain:g} (target <= {most:.1f})", plain <= most))
    return parts


@click.command()
@click.option("--quick", is_flag=True, help="One seed and one small architecture, for seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep runs here; go on from them.")
@click.option("--seeds", default=5, show_default=True, help="Campaigns of each sampler.")
@click.option("--minutes", default=20.0, show_default=True, help="Time of each campaign.")
@click.option("--clock", type=click.Choice(["cpu", "wall"]), default="cpu", show_default=True)
@click.option("--samplers", default=",".join(SAMPLERS), show_default=True)
@click.option("--backends", default="", help="Only these back ends.")
@click.option("--architectures", default="", help="Only these architectures.")
@click.option("--workers", default=1, show_default=True, help="Workers of each campaign.")
@click.option("--jobs", default=1, show_default=True, help="Campaigns at a time.")
@click.option("--lines/--no-lines", default=False, show_default=True, help="Trace lines too.")
@click.option("--corpus/--no-corpus", default=True, show_default=True, help="Shipped seeds.")
@click.option("--preload", multiple=True, type=click.Path(exists=True), help="Plant a fault.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the curves into this file.")
def main(
    quick: bool,
    as_json: bool,
    folder: Path | None,
    seeds: int,
    minutes: float,
    samplers: str,
    jobs: int,
    plot: Path | None,
    **settings: Any,
) -> None:
    """Compare samplers at equal time."""
    chosen = tuple(samplers.split(","))
    known = (*SAMPLERS, OUTSIDE)
    if not {"mcmc", "random"} <= set(chosen) <= set(known):
        raise click.UsageError(f"--samplers needs mcmc and random, of {', '.join(known)}")
    if OUTSIDE in chosen and (
        settings["preload"] or settings["architectures"] or settings["workers"] > 1
    ):
        raise click.UsageError(f"{OUTSIDE} takes no --preload, --architectures or --workers")
    settings["seconds"] = minutes * 60
    if quick:
        chosen, seeds = ("mcmc", "random"), 1
        settings |= {"seconds": QUICK_SECONDS, "backends": "eager", "corpus": False, "lines": False}
    settings["preload"] = [os.path.relpath(path, ROOT) for path in settings["preload"]]
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        try:
            runs = all_runs(place / RUNS, range(1, seeds + 1), settings, chosen, jobs)
        except RondoError as error:
            raise click.ClickException(str(error)) from None
    figures = judge(runs, chosen)
    if plot is not None:
        draw(runs, plot)
    if as_json:
        click.echo(json.dumps(figures).replace("Infinity", "null"))  # JSON has no such number
    else:
        click.echo("\n".join(table(figures)))
    parts = verdicts(figures, settings["clock"], bugs=not quick)
    click.echo("; ".join(said for said, _ in parts))
    sys.exit(not all(holds for _, holds in parts))


if __name__ == "__main__":
    main()
