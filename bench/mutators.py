"""Our mutators against libFuzzer's own: the behaviours that one target reaches in equal time.

    python bench/mutators.py            five seeds, a minute each
    python bench/mutators.py --quick    one seed, ten seconds

Everything is equal but who mutates: the target, its seeds, the features that libFuzzer is shown,
the seed of its random choices; its own mutations get the dictionary. The two of a pair run side by
side, so that whatever else the machine does happens to both. Alarms are counted and not looked
into, since looking into them takes time in which nothing is mutated. What is compared is the number
of distinct behaviours, the seeds' included; beside it stands the number beyond those that the seeds
show.
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
from dataclasses import asdict, dataclass
from pathlib import Path

from rondo.report.record import FOLDER, read_records

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ROOT / "fuzz_targets"
MUTATORS = ("chain", "libfuzzer")
SEED_STRIDE = 4
"""One in so many of the shipped seeds is used: they run first, however short the time is, and what
they show is equal on both sides."""
TARGET_RATIO = 1.0
"""What must hold: more behaviours, in the median over the seeds."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One run: behaviours in all, those beyond the seeds', executions, alarms."""

    mutator: str
    seed: int
    behaviours: int
    beyond_seeds: int
    executions: int
    alarms: int


def start(
    folder: Path, mutator: str, seed: int, seconds: int, seeds: Path
) -> subprocess.Popen[str]:
    """Start one run in `folder`."""
    (folder / "new").mkdir(parents=True)
    command = [sys.executable, str(TARGETS / "fuzz_torch_eager.py"), f"--mutator={mutator}"]
    command += [f"-seed={seed}", f"-max_total_time={seconds}", "--alarms=0", "--record=1"]
    if mutator == "libfuzzer":
        command.append(f"-dict={folder.parent / 'torch.dict'}")
    return subprocess.Popen(
        [*command, "new", str(seeds)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=open(folder / "log", "w"),
        text=True,
    )


def figure(folder: Path, mutator: str, seed: int, seeds: int) -> Figure:
    """Read what a run recorded."""
    (record,) = read_records(folder / "findings" / FOLDER)
    last = record.moments[-1]
    first = [m["behaviours"] for m in record.moments if m["executions"] <= seeds]
    shown = max(first, default=0)
    return Figure(
        mutator,
        seed,
        last["behaviours"],
        last["behaviours"] - shown,
        last["executions"],
        last["alarms"],
    )


def run_pair(work: Path, seed: int, seconds: int, seeds: Path) -> list[Figure]:
    """Run both mutators side by side."""
    folders = {mutator: work / f"{mutator}-{seed}" for mutator in MUTATORS}
    running = {m: start(folder, m, seed, seconds, seeds) for m, folder in folders.items()}
    for mutator, process in running.items():
        if process.wait():
            log = (folders[mutator] / "log").read_text()[-2000:]
            raise SystemExit(f"error: {mutator} ended with {process.returncode}\n{log}")
    count = len(list(seeds.iterdir()))
    return [figure(folder, mutator, seed, count) for mutator, folder in folders.items()]


def main() -> int:
    """Measure, print, return an exit code."""
    parser = argparse.ArgumentParser(description="Our mutators against libFuzzer's own.")
    parser.add_argument("--quick", action="store_true", help="one pair of ten seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=int, default=60, help="of each run  [60]")
    parser.add_argument("--seeds", type=int, default=5, help="how many pairs of runs  [5]")
    options = parser.parse_args()
    seconds = 10 if options.quick else options.seconds
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
                        f"  executions {each.executions:>5}  alarms {each.alarms}"
                    )
    by_mutator = {m: [each for each in figures if each.mutator == m] for m in MUTATORS}
    ratios = [
        ours.behaviours / theirs.behaviours
        for ours, theirs in zip(*by_mutator.values(), strict=True)
    ]
    beyond = [
        ours.beyond_seeds / max(1, theirs.beyond_seeds)
        for ours, theirs in zip(*by_mutator.values(), strict=True)
    ]
    ratio = statistics.median(ratios)
    if options.json:
        print(json.dumps({"runs": [asdict(each) for each in figures], "ratios": ratios}))
    print(
        f"behaviours, ours to libFuzzer's: {ratio:.2f} in the median of {pairs}"
        f" ({min(ratios):.2f} to {max(ratios):.2f}); beyond the seeds'"
        f" {statistics.median(beyond):.2f}; target: above {TARGET_RATIO:.2f}"
    )
    return 0 if ratio > TARGET_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
