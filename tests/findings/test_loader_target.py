"""The atheris target over the loader of reproducers runs, and finds nothing in known files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("atheris")

ROOT = Path(__file__).parents[2]


def test_the_target_runs_over_known_reproducers(tmp_path: Path) -> None:
    target = ROOT / "fuzz_targets" / "fuzz_reproducer_loader.py"
    seeds = (ROOT / "bench" / "bugs" / "torch", ROOT / "tests" / "findings" / "golden")
    command = [sys.executable, target, tmp_path, *seeds, "-runs=3000", "-print_final_stats=1"]
    done = subprocess.run(
        [*map(str, command), "-seed=1", "-timeout=30"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    assert executed is not None
    assert int(executed[1]) >= 3000
    assert re.search(r"INITED cov: [1-9]", done.stderr), "the loader is not instrumented"
