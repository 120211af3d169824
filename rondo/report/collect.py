"""Everything that a report shows, read from a campaign's folder: plain records, no HTML.

The key insight: a report is made of what a campaign leaves anyway - reproducers, coverage.py's data
file, the record of its growth - and of nothing else. So it can be made at any time, while the
campaign runs or after it was killed, on a machine without the framework, and a part that is missing
is missing on the page and no error.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.errors import ReproducerError, RondoError
from rondo.findings import reproducer as files
from rondo.findings.known import FILE as KNOWN_FILE
from rondo.findings.known import Known, KnownBuckets, KnownError
from rondo.findings.reproducer import Reproducer
from rondo.report import coverage
from rondo.report.record import FOLDER as RECORD_FOLDER
from rondo.report.record import Recorded, read_records
from rondo.report.scripts import Script, script_of

CURVES = {
    "behaviours": "behaviours",
    "lines": "lines of the compiler",
    "findings": "findings",
    "executions": "executions",
}
"""The figures that are drawn over time, with their titles."""

EXAMPLES = 12
"""Behaviours of each kind that are listed: the rarest, since those say most."""

SIDE_FOLDERS = frozenset({"flaky", "unconfirmed", "faults"})


class ReportError(RondoError):
    """A folder holds nothing to report."""

    slug = "report"


@dataclass(frozen=True, slots=True)
class BehaviourKind:
    """Behaviours of one kind: how many there are, how often they were seen, the rarest of them."""

    kind: str
    distinct: int
    sightings: int
    rarest: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """Lines reached in one of the compiler's source trees; `statements` 0 when not counted."""

    tree: str
    reached: int
    statements: int

    @property
    def percent(self) -> float:
        """Share of the tree's statements that were reached."""
        return 100 * self.reached / self.statements if self.statements else 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """A reproducer as the page shows it."""

    name: str
    path: Path
    reproducer: Reproducer
    script: Script
    known: Known | None = None

    @property
    def title(self) -> str:
        """What it is, in a line."""
        identity = self.reproducer.identity
        return f"{identity.effect} in {identity.place}, exposed by {identity.exposing}"


Points = Sequence[tuple[float, float]]
"""Seconds and a figure at that time."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure of one process over time. What is compared has another name."""

    name: str
    points: Points


@dataclass(frozen=True, slots=True)
class Report:
    """All that a page shows."""

    folder: Path
    records: tuple[Recorded, ...]
    totals: dict[str, float]
    curves: dict[str, list[Curve]]
    behaviours: tuple[BehaviourKind, ...]
    trees: tuple[TreeRow, ...]
    findings: tuple[Finding, ...]
    set_aside: dict[str, int]
    environment: dict[str, str]
    coverage_pages: Path | None


def find_folder(folder: Path) -> Path:
    """Return the artifact folder that `folder` is or holds. Raises ReportError.

    `make fuzz` keeps corpus and findings side by side, and a target keeps its findings beside its
    crash files; either folder may be named.
    """
    if not folder.is_dir():
        raise ReportError(f"{folder} is not a folder")
    for candidate in (folder, folder / "findings"):
        parts = (RECORD_FOLDER, coverage.FOLDER, *SIDE_FOLDERS)
        if any((candidate / part).is_dir() for part in parts) or any(
            candidate.glob(f"*/*{files.SUFFIX}")
        ):
            return candidate
    if (folder / "members").is_dir():
        raise ReportError(f"the campaign in {folder} has not run anything yet")
    raise ReportError(
        f"{folder} holds no campaign: no reproducers, no record/, no coverage/"
        " (give the folder named by -artifact_prefix)"
    )


def collect(folder: Path, *, totals: bool = True, scripts: bool = False) -> Report:
    """Read all that there is. Raises ReportError.

    With `totals`, count the statements of the compiler's trees too, which parses every file of
    them: some twenty seconds. With `scripts`, export findings that have no script yet.
    """
    folder = find_folder(folder)
    records = tuple(read_records(folder / RECORD_FOLDER))
    findings = tuple(_findings(folder, write_scripts=scripts))
    pages = folder / coverage.FOLDER / "html" / "index.html"
    return Report(
        folder=folder,
        records=records,
        totals=_totals(records, findings),
        curves=_curves(records),
        behaviours=_behaviour_kinds(records),
        trees=_trees(folder, records, totals=totals),
        findings=findings,
        set_aside={
            name: len(list((folder / name).glob("*.seq")))
            for name in sorted(SIDE_FOLDERS)
            if (folder / name).is_dir()
        },
        environment=_environment(findings),
        coverage_pages=pages if pages.is_file() else None,
    )


def _findings(folder: Path, *, write_scripts: bool) -> Iterable[Finding]:
    """Return the findings, stateful ones first. A file that cannot be read is left out."""
    found = []
    known = _known(folder)
    for path in sorted(folder.glob(f"*/*{files.SUFFIX}")):
        try:
            reproducer = files.load(path)
        except ReproducerError:
            continue
        script = script_of(path, reproducer, write=write_scripts)
        name = path.parent.name
        found.append(Finding(name, path, reproducer, script, known.get(name)))
    ranks = {"stateful": 0, "masked": 1, "split": 2, "leaked": 3, "died": 4}
    return sorted(found, key=lambda f: (ranks.get(f.reproducer.identity.verdict, 9), f.name))


def _known(folder: Path) -> dict[str, Known]:
    """Return what `rondo known` has noted beside the findings; a damaged list notes nothing."""
    try:
        return KnownBuckets(folder / KNOWN_FILE).buckets
    except KnownError:
        return {}


def _totals(records: Sequence[Recorded], findings: Sequence[Finding]) -> dict[str, float]:
    """Return the figures at the end, summed over processes; behaviours are united, not summed."""
    totals: dict[str, float] = {}
    for record in records:
        if record.moments:
            last = record.moments[-1]
            for name in ("seconds", "executions", "alarms"):
                totals[name] = totals.get(name, 0) + float(last.get(name, 0))
            for name in ("lines", "corpus", "behaviours"):
                totals[name] = max(totals.get(name, 0), float(last.get(name, 0)))
    labelled = {hash_ for record in records for hash_ in record.ledger.labels}
    totals["behaviours"] = max(totals.get("behaviours", 0), len(labelled))
    totals["findings"] = len(findings)
    return totals


def _curves(records: Sequence[Recorded]) -> dict[str, list[Curve]]:
    curves = {}
    names = _names(records)
    for figure in CURVES:
        drawn = [
            Curve(
                name,
                [
                    (float(moment["seconds"]), float(moment[figure]))
                    for moment in record.moments
                    if isinstance(moment.get(figure), int | float)
                ],
            )
            for name, record in zip(names, records, strict=True)
        ]
        if any(value for curve in drawn for _, value in curve.points):
            curves[figure] = [curve for curve in drawn if len(curve.points) > 1]
    return {figure: drawn for figure, drawn in curves.items() if drawn}


def _names(records: Sequence[Recorded]) -> list[str]:
    """Return what to call each process: its sampler, where several are compared."""
    samplers = [str(record.about.get("sampler", "")) for record in records]
    if len(set(samplers)) > 1:
        return [sampler or "other" for sampler in samplers]
    return [f"process {number}" for number in range(1, len(records) + 1)]


# ------------------------------------------------------------------------------------- behaviours


def kind_of(label: str) -> str:
    """Return the kind of a behaviour by its label, which reads `back end: kind ...`."""
    rest = label.partition(": ")[2] or label
    if " then " in rest:
        return "one outcome after another"
    word = re.match(r"[A-Za-z_]+", rest)
    name = word.group() if word else rest[:20]
    return "outcome after a change" if name == "after" else name.replace("_", " ")


def _behaviour_kinds(records: Sequence[Recorded]) -> tuple[BehaviourKind, ...]:
    seen: Counter[int] = Counter()
    labels: dict[int, str] = {}
    for record in records:
        labels.update(record.ledger.labels)
        for hash_ in record.ledger.labels:
            seen[hash_] += record.ledger.counts.count(hash_)
    by_kind: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for hash_, label in labels.items():
        by_kind[kind_of(label)].append((label, seen[hash_]))
    kinds = [
        BehaviourKind(
            kind,
            len(each),
            sum(count for _, count in each),
            tuple(sorted(each, key=lambda pair: (pair[1], pair[0]))[:EXAMPLES]),
        )
        for kind, each in by_kind.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: -kind.distinct))


# --------------------------------------------------------------------------------------- coverage


def _trees(folder: Path, records: Sequence[Recorded], *, totals: bool) -> tuple[TreeRow, ...]:
    lines = coverage.read_data(folder / coverage.FOLDER)
    if not lines:
        return ()
    trees = next((r.about["trees"] for r in reversed(records) if r.about.get("trees")), None)
    trees = [str(tree) for tree in trees] if trees else guess_trees(lines)
    if totals and all(Path(tree).exists() for tree in trees):
        figures = coverage.figures(lines, trees)
        return tuple(
            TreeRow(short_tree(figure.tree), figure.lines_hit, figure.lines_total)
            for figure in figures
            if figure.lines_total
        )
    return tuple(
        TreeRow(short_tree(tree), sum(len(n) for f, n in lines.items() if lies_in(f, tree)), 0)
        for tree in trees
    )


def lies_in(file: str, tree: str) -> bool:
    """Tell whether `file` is `tree` or lies in it."""
    return file == tree or file.startswith(tree.rstrip("/") + "/")


def guess_trees(lines: Mapping[str, object]) -> list[str]:
    """Return source trees for files of which no record says where they belong: package folders."""
    trees = set()
    for file in lines:
        before, packages, rest = file.rpartition("/site-packages/")
        if packages:
            trees.add(before + packages + "/".join(rest.split("/")[:2]))
        else:
            trees.add(str(Path(file).parent))
    return sorted(trees)


def short_tree(tree: str) -> str:
    """Return a tree's path as people name it: from the package on."""
    return tree.rpartition("/site-packages/")[2] or tree


def _environment(findings: Sequence[Finding]) -> dict[str, str]:
    found: dict[str, Any] = {}
    for finding in findings:
        found = found or finding.reproducer.environment
    return dict(found)
