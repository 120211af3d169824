"""A reset that leaves something behind is found by a campaign, confirmed and shortened."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

from rondo.findings.reproducer import load
from rondo.oracle.fresh import is_sampled
from rondo.sequences.step import Call
from tests.campaign.conftest import toy_bytes
from tests.campaign.test_campaign import seed, statistics

Run = Callable[..., subprocess.CompletedProcess[str]]
LEAKY = "tests.oracle.leaky_adapter:LeakyFramework"


def sampled() -> bytes:
    """Return a sequence of the sample, of a few equal calls."""
    for seeds in product(range(8), repeat=3):
        data = toy_bytes("scale", *(Call(value_seed=n) for n in (*seeds, seeds[0])))
        if is_sampled(data):
            return data
    raise AssertionError("no such sequence")


def test_a_leak_is_found_confirmed_and_shortened(rondo: Run, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", leaky=sampled())
    flags = ("corpus", "-runs=0", "-print_final_stats=1", "--framework", LEAKY)
    done = rondo(*flags, module="rondo.fuzz")
    assert done.returncode == 0, done.stderr
    assert statistics(done.stderr)["measured_fresh"] == 1
    (path,) = (tmp_path / "findings").glob("leaked-*/*.rondo")
    found = load(path)
    assert found.identity.verdict == "leaked"
    assert len(found.decoded["steps"]) < 4, "shortened"
    replayed = rondo("replay", path, "--framework", LEAKY)
    assert (replayed.returncode, "leaked: " in replayed.stdout) == (1, True), replayed.stdout
    verified = rondo("verify", path, "--times", 2, "--framework", LEAKY)
    assert verified.stdout.splitlines()[-1] == "verified: 2 of 2"
    shrunk = rondo("shrink", path, "--framework", LEAKY)
    assert "1-minimal" in shrunk.stdout, shrunk.stderr
    refused = rondo("locate", path, "--framework", LEAKY)
    assert (refused.returncode, "in no layer" in refused.stderr) == (2, True)


def test_nothing_leaks_from_a_compiler_that_resets(fuzz: Run, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", clean=sampled())
    done = fuzz("-runs=0", "-print_final_stats=1")
    assert statistics(done.stderr)["measured_fresh"] == 1
    assert statistics(done.stderr)["alarms"] == 0


def test_the_workers_own_folder_goes_with_it(rondo: Run, tmp_path: Path) -> None:
    """A compiler's caches lie there; a campaign of a week must not pile them up."""
    seed(tmp_path / "corpus", **{f"s{n}": toy_bytes("scale", Call(value_seed=n)) for n in range(6)})
    preload = tmp_path / "preload.py"
    preload.write_text(
        "import os, pathlib\n"
        "mine = pathlib.Path(os.environ['RONDO_WORKER_FOLDER'])\n"
        "(mine / 'cache').write_text('x')\n"
        f"with open({str(tmp_path / 'alive')!r}, 'a') as log:\n"
        "    print(len(list(mine.parent.glob('worker-*'))), file=log)\n"
    )
    flags = ("--framework", "tests.toy_framework:ToyFramework", "--preload", preload, "--batch=1")
    assert rondo("corpus", "-runs=0", *flags, module="rondo.fuzz").returncode == 0
    alive = (tmp_path / "alive").read_text().split()
    assert len(alive) >= 6
    assert set(alive) == {"1"}, "one worker, one folder at any time"
