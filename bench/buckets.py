"""Do two campaigns put the same bug into the same bucket?

A bucket's key is what the oracle saw and what shortening left: verdict, effect, place, exposing
step, back end, constructs. Whether two findings are the *same bug* must not be read off that, or
the figure would be true by definition. So each finding's **cause** is found anew by experiments
that the key has no part in, those of `rondo locate`, in fresh processes:

* which retained layer is guilty: the smallest drop, innermost first, that cures the exposing call;
* the first back end that shows it;
* what changed in the program since the entry that served was compiled and that none of its guards
  mentions. That is the guard which is missing, so it is what a fix would add: two findings that
  lack the same guard are cured by one fix. Places are told by the program's own names
  (`Knobs.shift`), values are not.

Where nothing unguarded changed - an AOTAutograd cache entry, a random generator - the cause is the
layer, its cure and what changed at all. Layers are coarse: two bugs of one layer then look like
one, so that different buckets count against this bench although they may be right. It errs to the
strict side. A call that is wrong without any history has nothing that changed and no cure: where it
raises, what it raises is its cause; where it returns wrong numbers no experiment tells its cause.

A finding is *shared* when the other campaign found its cause too. It is in the same bucket when one
of the other's findings of that cause is in a bucket of the same name. And no bucket may hold two
causes. Findings whose cause cannot be told are listed, and count as shared in no way.

    python bench/buckets.py DIR_A DIR_B [--folder STATE]   two campaigns' findings; resumable
    python bench/buckets.py --quick                        two short campaigns of its own
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import click
from filed import Filed, Ledger, filed

from rondo.campaign.locating import Laboratory, LocateError, shown_here
from rondo.campaign.pool import Server
from rondo.errors import RondoError
from rondo.findings.locate import Located
from rondo.findings.replay import read
from rondo.frameworks.shared.labels import scrub
from rondo.oracle.result import Alarm

TARGET = 0.95
SECONDS = 120.0
"""What one experiment may take."""
ROOT = Path(__file__).parents[1]
QUICK_RUNS = 150
QUICK_CONSTRUCTS = "class_method,builtin_name,module_method,list_alias,float_attribute"
"""Constructs that hold known bugs, and one that holds none: findings within seconds."""


@dataclass(frozen=True, slots=True)
class Row:
    """One finding: the campaign it is of, its bucket, and its cause in words (empty: not told)."""

    campaign: str
    bucket: str
    cause: str
    why: str = ""


def cause_of(alarm: Alarm, located: Located) -> str:
    """Return what is wrong, without a word of the bucket's key."""
    lacking = sorted({touched.path for touched in located.unguarded})
    parts = [located.layer, f"first on {located.backend}"]
    if lacking:
        return "; ".join([*parts, f"no guard on {', '.join(lacking)}"])
    changed = sorted({touched.path for touched in located.inspection.changed})
    parts += [f"cured by {' and '.join(located.cure) or 'nothing'}"]
    parts += [f"changed {', '.join(changed)}"] if changed else []
    first = alarm.differences[0] if alarm.differences else None
    if first is not None and "exception" in first.effect:
        return "; ".join([*parts, f"eager {scrub(first.eager)}, compiled {scrub(first.retained)}"])
    return "; ".join(parts) if changed or located.cure else ""


def rows_of(findings: list[Filed], campaign: str, ledger: Ledger) -> Iterator[Row]:
    """Yield a row for each finding, made in fresh processes unless the ledger has it."""
    missing = [each for each in findings if ledger.get(each.key) is None]
    server = Server(missing[0].reproducer.framework) if missing else None
    try:
        for each in findings:
            kept = ledger.get(each.key)
            if kept is None:
                assert server is not None
                kept = located_row(Laboratory.of(server, SECONDS), each)
                ledger.add(each.key, kept)
            yield Row(campaign, each.bucket.name, kept["cause"], kept["why"])
    finally:
        if server is not None:
            server.close()


def located_row(laboratory: Laboratory, finding: Filed) -> dict[str, Any]:
    """Return the cause of a finding, or why it cannot be told."""
    try:
        alarm = shown_here(laboratory, read(finding.path), finding.path)
        located = laboratory.locate(finding.reproducer.data, alarm)
    except (LocateError, RondoError) as error:
        return {"cause": "", "why": str(error)}
    cause = cause_of(alarm, located)
    return {"cause": cause, "why": located.why if cause else "wrong without any history"}


@dataclass(frozen=True, slots=True)
class Figures:
    """What two campaigns agree on. `split`: causes whose shared findings lie in other buckets."""

    findings: int
    shared: int
    same: int
    split: dict[str, list[str]]
    mixed: dict[str, list[str]]
    untold: list[str]

    @property
    def rate(self) -> float:
        """The share of shared findings that lie in the same bucket."""
        return self.same / self.shared if self.shared else 0.0

    @property
    def good(self) -> bool:
        """Whether the target holds."""
        return self.rate >= TARGET and not self.mixed


def compare(rows: list[Row]) -> Figures:
    """Hold the findings of two campaigns against each other."""
    buckets: defaultdict[str, defaultdict[str, set[str]]]
    buckets = defaultdict(lambda: defaultdict(set))
    causes: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.cause:
            buckets[row.cause][row.campaign].add(row.bucket)
            causes[row.bucket].add(row.cause)
    shared = same = 0
    split: dict[str, list[str]] = {}
    for cause, sides in buckets.items():
        if len(sides) < 2:
            continue
        first, second = sides.values()
        found = len(first) + len(second)
        agreed = 2 * len(first & second)
        shared, same = shared + found, same + agreed
        if agreed < found:
            split[cause] = sorted(first ^ second)
    return Figures(
        findings=len(rows),
        shared=shared,
        same=same,
        split=split,
        mixed={name: sorted(many) for name, many in causes.items() if len(many) > 1},
        untold=[f"{row.bucket}: {row.why}" for row in rows if not row.cause],
    )


def campaign(folder: Path, seed: int) -> Path:
    """Run a short campaign on the cheapest back end and return its folder of findings."""
    findings = folder / f"findings-{seed}"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "rondo.fuzz",
            str(folder / f"corpus-{seed}"),
            str(ROOT / "corpus" / "torch"),
            f"-seed={seed}",
            f"-runs={QUICK_RUNS}",
            "-verbosity=0",
            f"-artifact_prefix={findings}",
            "--backends=eager",
            f"--constructs={QUICK_CONSTRUCTS}",
            "--lines=0",
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise click.ClickException(f"a campaign ended with {done.returncode}: {last}")
    return findings


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option("--quick", is_flag=True, help="Two short campaigns of its own, with other seeds.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keeps rows; a second run resumes.")
def main(folders: tuple[Path, ...], quick: bool, as_json: bool, folder: Path | None) -> None:
    """Compare the buckets of two campaigns."""
    if quick == bool(folders) or (folders and len(folders) != 2):
        raise click.UsageError("give two campaigns' folders of findings, or --quick")
    with tempfile.TemporaryDirectory(prefix="buckets-") as temporary:
        if quick:
            place = Path(temporary)
            for seed in (1, 2):
                (place / f"corpus-{seed}").mkdir()
            folders = tuple(campaign(place, seed) for seed in (1, 2))
        rows: list[Row] = []
        for name, path in zip("AB", folders, strict=True):
            try:
                findings = filed(path)
            except RondoError as error:
                raise click.UsageError(str(error)) from None
            for row in rows_of(findings, name, Ledger(folder, "buckets")):
                rows.append(row)
                if not as_json:
                    told = row.cause or f"NOT TOLD: {row.why}"
                    print(f"{name}  {row.bucket}\n   {told}", flush=True)
    report(compare(rows), rows, as_json=as_json)


def report(figures: Figures, rows: list[Row], *, as_json: bool) -> None:
    """Print the figures and leave with 0 if the target holds."""
    if as_json:
        print(json.dumps({**asdict(figures), "rows": [asdict(row) for row in rows]}))
    for cause, names in figures.split.items():
        print(f"one bug in different buckets: {cause}\n   " + "\n   ".join(names))
    for name, causes in figures.mixed.items():
        print(f"different bugs in one bucket: {name}\n   " + "\n   ".join(causes))
    for text in figures.untold:
        print(f"cause not told: {text}")
    print(
        f"{figures.findings} findings, {figures.shared} shared: {figures.same} in the same bucket,"
        f" {figures.rate:.1%} (target >= {TARGET:.0%}); buckets that hold different bugs:"
        f" {len(figures.mixed)} (target 0)"
    )
    sys.exit(not figures.good)


if __name__ == "__main__":
    main()
