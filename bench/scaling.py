"""Scaling: executions of a campaign with several workers, relative to one worker.

Campaigns of equal length over the same seed, alternating between one worker and several, so that
what else the machine does meets both. Executions are those of the search and of confirming and
shortening together: each of them occupies a worker. Import and start-up do not count.

    python bench/scaling.py                      two minutes each way, two workers, back end eager
    python bench/scaling.py --quick              ten seconds each way, under 50 seconds in all
    python bench/scaling.py --workers 8          on a machine that has them
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click

TARGET_PER_WORKER = 0.85
"""Executions per added worker, relative to the first one's: 1.7 times for two workers."""


@click.command()
@click.option("--quick", is_flag=True, help="One short pair: under 50 seconds on 2 cores.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--workers", default=2, show_default=True)
@click.option("--seconds", default=40.0, show_default=True, help="Length of each campaign.")
@click.option("--pairs", default=3, show_default=True, help="Campaigns with one and with several.")
@click.option("--framework", default="torch", show_default=True)
@click.option("--backend", default="eager", show_default=True)
def main(
    quick: bool,
    as_json: bool,
    workers: int,
    seconds: float,
    pairs: int,
    framework: str,
    backend: str,
) -> None:
    """Measure executions with one worker and with several."""
    if quick:
        seconds, pairs = 10.0, 1
    counts: dict[int, list[int]] = {1: [], workers: []}
    for number in range(pairs):
        for many in (1, workers):
            counts[many].append(campaign(framework, backend, many, seconds, seed=number + 1))
    one, several = sum(counts[1]), sum(counts[workers])
    ratio, target = several / one, TARGET_PER_WORKER * workers
    rows = {str(many): [count / seconds for count in each] for many, each in counts.items()}
    if as_json:
        print(json.dumps({"executions_per_second": rows, "ratio": ratio, "target": target}))
    else:
        for many, rates in rows.items():
            print(f"{many} workers: {' '.join(f'{rate:.2f}' for rate in rates)} executions/s")
    print(f"{workers} workers on {backend}: {ratio:.2f} times one (target >= {target:.2f})")
    sys.exit(ratio < target)


def campaign(framework: str, backend: str, workers: int, seconds: float, *, seed: int) -> int:
    """Run a campaign of `seconds` and return how many executions it made."""
    with tempfile.TemporaryDirectory(prefix="rondo-scaling-") as folder:
        Path(folder, "corpus").mkdir()
        command = [sys.executable, "-m", "rondo.fuzz", "corpus", f"-seed={seed}"]
        command += [f"-workers={workers}", f"-max_total_time={seconds}", "--lines=0", "--json"]
        command += ["-print_final_stats=1", "--framework", framework, "--backends", backend]
        path = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    final = json.loads(done.stdout.splitlines()[-1])
    return int(final["number_of_executed_units"] + final["triage_runs"])


if __name__ == "__main__":
    main()
