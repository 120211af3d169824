"""Do exported scripts show their bugs, each time, without Rondo - and can people read them?

Every bug of `bench/bugs/` is exported: those that campaigns found, and those handed over as cases,
shortened first where that takes milliseconds. Each script runs in fresh processes in which Rondo
cannot be imported. Two figures: scripts that show their bug every time, and the median length.

    python bench/export.py                10 runs of each script, all back ends
    python bench/export.py --quick        2 runs of two found bugs
    python bench/export.py --keep FOLDER  write the scripts there too
    python bench/export.py --campaign DIR --folder STATE    a campaign's findings; resumable
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "bugs"))

from cases import BACKENDS, CASES
from filed import Ledger, Runner, filed

from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError, Limits, Server
from rondo.errors import RondoError
from rondo.findings import replay
from rondo.findings.bucket import find_alarm
from rondo.findings.export import export, request_of
from rondo.findings.export_check import run_script
from rondo.findings.shorten import shorten
from rondo.frameworks.base import Framework
from rondo.frameworks.registry import load_framework
from rondo.oracle.result import Identity, Result
from rondo.sequences.codec import decode, encode

FOUND = Path(__file__).parent / "bugs" / "torch"
LONGEST = 60
"""Lines that a shortened finding's script may have."""
MEDIAN = 40
QUICK_FOUND = 2
SECONDS = 300.0
"""What one run may take: Inductor's first kernel compiles for half a minute on a slow machine."""
SHORTENING = 300
"""Executions that shortening one case may take."""


@dataclass(frozen=True, slots=True)
class Row:
    """One bug: how it was exported and how often its script showed it."""

    name: str
    backend: str
    layout: str
    lines: int
    shown: int
    runs: int
    error: str = ""
    unshortened: str = ""

    @property
    def holds(self) -> bool:
        """Whether the script showed its bug every time and is short, if its finding was."""
        short = self.lines <= LONGEST or bool(self.unshortened)
        return not self.error and self.shown == self.runs and short


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug to export; `identity` is what it was filed as, None where its first alarm is meant."""

    name: str
    data: bytes
    identity: Identity | None = None
    unshortened: str = ""
    """Why its sequence was not shortened, as the campaign says."""


def campaigns_bugs(folder: Path, wanted: list[str]) -> Iterator[Bug]:
    """Yield every finding of a campaign as it was filed."""
    for each in filed(folder, tuple(wanted)):
        found = each.reproducer
        reason = "" if found.minimal else found.reason
        yield Bug(each.name, found.data, found.identity, reason)


def bugs(executor: Executor, wanted: list[str], *, quick: bool) -> Iterator[Bug]:
    """Yield every known bug, shortened."""
    vocabulary = executor.server.vocabulary

    def execute(data: bytes) -> Result | None:
        try:
            return executor.run(data)
        except ExecutionFaultError:
            return None

    for path in sorted(FOUND.glob("*/reproducer.rondo"))[: QUICK_FOUND if quick else None]:
        yield Bug(path.parent.name, replay.read(path).data)
    for case in CASES:
        if quick or (wanted and case.name not in wanted):
            continue
        shown = [b for b in BACKENDS if case.verdict(b) not in ("agree", "documented")]
        if not shown:
            continue
        data = encode(case.sequence(vocabulary, shown[0]))
        result = executor.run_fresh(data)
        # An execution under Inductor takes seconds, and its cases were written to be short.
        if result.alarms and shown[0] != "inductor":
            short = shorten(data, result.alarms[0], execute, vocabulary, budget=SHORTENING)
            data = short.data
        yield Bug(case.name, data)


def measure(
    bug: Bug, executor: Executor, framework: Framework, runs: int, keep: Path | None
) -> Row:
    """Export one bug and run its script."""
    name = bug.name
    vocabulary = executor.server.vocabulary
    sequence = decode(bug.data, vocabulary)
    backend = vocabulary.backends[sequence.options.backend]
    runner = Runner(executor)
    runner.about(bug.identity.verdict if bug.identity else "")
    result = runner.run(bug.data)
    alarm = next(iter(result.alarms), None)
    if bug.identity is not None:
        alarm = find_alarm(result, bug.identity, strict=True)
    if alarm is None:
        return Row(name, backend, "", 0, 0, runs, f"it does not show ({result.verdict})")
    try:
        done = export(request_of(sequence, alarm, vocabulary), framework, seconds=SECONDS)
    except RondoError as error:
        return Row(name, backend, "", 0, 0, runs, str(error))
    if keep is not None:
        (keep / f"{name}.py").write_text(done.text)
    shown = sum(
        run_script(done.text, seconds=SECONDS, environment=done.environment).shows
        for _ in range(runs)
    )
    return Row(name, backend, done.layout, done.lines, shown, runs, unshortened=bug.unshortened)


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each bug and whether the targets hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--campaign", type=Path, help="a campaign's findings instead")
    parser.add_argument("--folder", type=Path, help="keeps rows; a second run resumes")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    runs = options.runs or (2 if options.quick else 10)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(options.folder, "export")
    name = "torch"
    if options.campaign:
        try:
            name = filed(options.campaign, tuple(options.names))[0].reproducer.framework
        except RondoError as error:
            parser.error(str(error))
    framework = load_framework(name)
    server = Server(name)
    executor = Executor(server, Limits(SECONDS), batch=16, interrupted=lambda: None)
    rows = []
    try:
        known = bugs(executor, options.names, quick=options.quick)
        for bug in campaigns_bugs(options.campaign, options.names) if options.campaign else known:
            if options.names and not options.campaign and bug.name not in options.names:
                continue
            began = time.perf_counter()
            key = f"{bug.name} {blake2b(bug.data, digest_size=6).hexdigest()} {runs} runs"
            kept = ledger.get(key)
            row = Row(**kept) if kept else measure(bug, executor, framework, runs, options.keep)
            if not kept:
                ledger.add(key, asdict(row))
            rows.append(row)
            if not options.json:
                told = row.error or f"{row.layout}, {row.lines} lines, {row.shown} of {row.runs}"
                told += f" (not shortened: {row.unshortened})" if row.unshortened else ""
                took = time.perf_counter() - began
                print(f"{row.backend:10} {row.name[:60]:60} {told}  ({took:.0f} s)", flush=True)
    finally:
        server.close()
    lengths = [row.lines for row in rows if not row.error]
    median = statistics.median(lengths) if lengths else 0
    held = sum(row.holds for row in rows)
    good = bool(rows) and held == len(rows) and median <= MEDIAN
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "median": median, "good": good}))
    print(
        f"scripts that show their bug {runs} of {runs} times: {held} of {len(rows)} (target: all);"
        f" median length {median:g} lines (target: at most {MEDIAN})"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
