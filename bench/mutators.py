"""Our mutators against libFuzzer's own: the behaviours that one target reaches for equal work.

    python bench/mutators.py            five seeds, a minute of each mutator
    python bench/mutators.py --quick    one seed, half a minute

Everything is equal but who mutates: the target, its seeds, the features that libFuzzer is shown,
the seed of its random choices; its own mutations get the dictionary. Time is CPU seconds of the
process, since a machine with other work on it need not give two processes the same; the two of a
pair run side by side. Alarms are counted and not looked into, since looking into them takes time in
which nothing is mutated. What is compared is the number of distinct behaviours, the seeds'
included; beside it stand the number beyond those that the seeds show, and the ratio at equal
executions, which says what a mutation is worth and not what it costs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from rondo.report.record import FOLDER, read_records

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ROOT / "fuzz_targets"
MUTATORS = ("chain", "libfuzzer")
SEED_STRIDE = 4
"""One in so many of the shipped seeds is used: they run first, however short the time is, and what
they show is equal on both sides."""
TARGET_RATIO = 1.0
"""What must hold: more behaviours, in the median over the seeds."""


Moments = tuple[dict[str, Any], ...]
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Figure:
    """One run: behaviours in all, those beyond the seeds', executions, alarms.

    `at_equal_executions` are its behaviours when both of the pair had executed as many.
    """

    mutator: str
    seed: int
    behaviours: int
    beyond_seeds: int
    executions: int
    alarms: int
    at_equal_executions: int


def run(folder: Path, mutator: str, seed: int, seconds: float, seeds: Path) -> Moments:
    """Run one side for so many CPU seconds, start included; return what it recorded."""
    (folder / "new").mkdir(parents=True)
    command = [sys.executable, str(TARGETS / "fuzz_torch_eager.py"), f"--mutator={mutator}"]
    command += [f"-seed={seed}", "--alarms=0", "--record=1"]
    if mutator == "libfuzzer":
        command.append(f"-dict={folder.parent / 'torch.dict'}")
    log = folder / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [*command, "new", str(seeds)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        watched = psutil.Process(process.pid)
        while process.poll() is None and sum(watched.cpu_times()[:2]) < seconds:
            time.sleep(POLL_SECONDS)
        ended = process.poll()
        process.kill()
        process.wait()
    if ended is not None:
        raise SystemExit(f"error: {mutator} ended with {ended}\n{log.read_text()[-2000:]}")
    (record,) = read_records(folder / "findings" / FOLDER)
    return record.moments


def behaviours(moments: Moments, executions: int) -> int:
    """Return how many behaviours had been seen after so many executions."""
    return max(each["behaviours"] for each in moments if each["executions"] <= executions)


def run_pair(work: Path, seed: int, seconds: float, seeds: Path) -> list[Figure]:
    """Run both mutators side by side."""
    with ThreadPoolExecutor(len(MUTATORS)) as pool:
        sides = list(
            pool.map(lambda m: run(work / f"{m}-{seed}", m, seed, seconds, seeds), MUTATORS)
        )
    equal = min(moments[-1]["executions"] for moments in sides)
    shown = len(list(seeds.iterdir())) + 1  # libFuzzer begins with an empty input
    return [
        Figure(
            mutator,
            seed,
            moments[-1]["behaviours"],
            moments[-1]["behaviours"] - behaviours(moments, shown),
            moments[-1]["executions"],
            moments[-1]["alarms"],
            behaviours(moments, equal),
        )
        for mutator, moments in zip(MUTATORS, sides, strict=True)
    ]


def main() -> int:
    """Measure, print, return an exit code."""
    parser = argparse.ArgumentParser(description="Our mutators against libFuzzer's own.")
    parser.add_argument("--quick", action="store_true", help="one pair of 30 CPU seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=60, help="CPU seconds of each run  [60]")
    parser.add_argument("--seeds", type=int, default=5, help="how many pairs of runs  [5]")
    options = parser.parse_args()
    seconds = 30.0 if options.quick else options.seconds
    pairs = 1 if options.quick else options.seeds
    shipped = sorted((ROOT / "corpus" / "torch").glob("*.seq"))
    with tempfile.TemporaryDirectory(prefix="rondo-mutators-") as name:
        work = Path(name)
        seeds = work / "seeds"
        seeds.mkdir()
        for path in shipped[:: 8 if options.quick else SEED_STRIDE]:
            shutil.copy(path, seeds)
        dictionary = [sys.executable, str(TARGETS / "dictionary.py"), "torch"]
        subprocess.run(
            [*dictionary, str(work / "torch.dict")],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        figures = []
        for seed in range(1, pairs + 1):
            figures += run_pair(work, seed, seconds, seeds)
            for each in figures[-2:]:
                if not options.json:
                    print(
                        f"seed {each.seed} {each.mutator:<10} behaviours {each.behaviours:>5}"
                        f"  beyond the seeds' {each.beyond_seeds:>5}"
                        f"  executions {each.executions:>5}  alarms {each.alarms}",
                        flush=True,
                    )
    sides = list(zip(figures[::2], figures[1::2], strict=True))
    ratios = [ours.behaviours / theirs.behaviours for ours, theirs in sides]
    beyond = [ours.beyond_seeds / max(1, theirs.beyond_seeds) for ours, theirs in sides]
    equal = [ours.at_equal_executions / theirs.at_equal_executions for ours, theirs in sides]
    ratio = statistics.median(ratios)
    if options.json:
        print(json.dumps({"runs": [asdict(each) for each in figures], "ratios": ratios}))
    print(
        f"behaviours, ours to libFuzzer's: {ratio:.2f} in the median of {pairs}"
        f" ({min(ratios):.2f} to {max(ratios):.2f}); beyond the seeds'"
        f" {statistics.median(beyond):.2f}, at equal executions"
        f" {statistics.median(equal):.2f}; target: above {TARGET_RATIO:.2f}"
    )
    return 0 if ratio > TARGET_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
