"""A folder of findings as one row for each bug: what `rondo triage` shows.

The key insight: a finding carries its bucket, so folders of any number of campaigns, however they
are nested, make one table, and no framework is needed to read it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rondo.errors import ArtifactError, ReproducerError
from rondo.findings.bucket import Bucket, bucket_of_finding
from rondo.findings.known import Known
from rondo.findings.reproducer import CONTROL, SUFFIX, Reproducer, load

STATUSES = ("new", "known", "documented", "flaky", "unconfirmed")
"""The first three are of findings, the last two of alarms that no fresh processes vouch for."""
NOTE_BYTES = 1 << 10


@dataclass(frozen=True, slots=True)
class Row:
    """One bug. `count`: folders that hold it; `path`: its smallest reproducer."""

    status: str
    bucket: str
    title: str
    count: int
    steps: int | None
    minimal: bool
    layer: str
    first_seen: str
    path: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """All rows, and the files that could not be read with the reason."""

    rows: tuple[Row, ...]
    unreadable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A reproducer that was read."""

    path: Path
    reproducer: Reproducer
    bucket: Bucket
    seconds: float

    @property
    def size(self) -> tuple[int, int, str]:
        """What makes one reproducer smaller than another."""
        steps = len(self.reproducer.decoded["steps"])
        return steps, len(self.reproducer.data), str(self.path)


def check_findings(folder: Path) -> None:
    """Raise ArtifactError unless `folder` is a folder."""
    if not os.path.isdir(folder):
        raise ArtifactError(f"{folder} is no folder of findings")


def check_file(path: Path) -> None:
    """Raise ReproducerError unless `path` is a file, which a pipe, asked to be read, is not."""
    if not os.path.isfile(path):
        raise ReproducerError(f"{path} is no file")


def overview_of(folder: Path, known: Mapping[str, Known]) -> Overview:
    """Read every finding below `folder`. Raises ArtifactError when it is no folder."""
    check_findings(folder)
    findings: list[Finding] = []
    unreadable: list[str] = []
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        if path.name.startswith("."):
            continue
        try:
            check_file(path)
            reproducer = load(path)
            seconds = path.stat().st_mtime
        except (ReproducerError, OSError) as error:
            unreadable.append(str(error))
            continue
        findings.append(Finding(path, reproducer, bucket_of_finding(reproducer), seconds))
    rows = [*(_row(group, known) for group in grouped(findings)), *_undecided(folder)]
    rows.sort(key=lambda row: (STATUSES.index(row.status), -row.count, row.bucket, row.layer))
    return Overview(tuple(rows), tuple(unreadable))


def grouped(findings: list[Finding]) -> Iterator[list[Finding]]:
    """Yield the findings of each bug.

    Equal buckets are one bug unless different layers were found at fault. One that nobody has
    located goes with the others of its bucket where they agree on a layer, and stands alone else.
    """
    buckets: defaultdict[Bucket, defaultdict[str, list[Finding]]]
    buckets = defaultdict(lambda: defaultdict(list))
    for finding in findings:
        buckets[finding.bucket][finding.bucket.layer].append(finding)
    for layers in buckets.values():
        if len(layers) == 2 and "" in layers:
            (located,) = (layer for layer in layers if layer)
            layers[located] += layers.pop("")
        yield from layers.values()


def _row(group: list[Finding], known: Mapping[str, Known]) -> Row:
    smallest = min(group, key=lambda finding: finding.size)
    bucket = smallest.bucket
    told = known.get(bucket.name)
    return Row(
        status=told.status if told else "new",
        bucket=bucket.name,
        title=str(bucket),
        count=len({finding.path.parent for finding in group}),
        steps=smallest.size[0],
        minimal=smallest.reproducer.minimal,
        layer=next((each.bucket.layer for each in group if each.bucket.layer), ""),
        first_seen=_date(min(finding.seconds for finding in group)),
        path=str(smallest.path),
        url=told.url if told else "",
    )


def _undecided(folder: Path) -> Iterator[Row]:
    """Yield a row for each alarm text in the quarantines below `folder`."""
    for status in ("flaky", "unconfirmed"):
        alarms: defaultdict[str, list[Path]] = defaultdict(list)
        for note in sorted(folder.rglob(f"{status}/*.txt")):
            if note.is_file() and note.with_suffix(".seq").is_file():
                for text in _lines(note):
                    alarms[text].append(note.with_suffix(".seq"))
        for text, paths in alarms.items():
            smallest = min(paths, key=lambda path: (path.stat().st_size, str(path)))
            yield Row(
                status=status,
                bucket="",
                title=text,
                count=len(paths),
                steps=None,
                minimal=False,
                layer="",
                first_seen=_date(min(path.stat().st_mtime for path in paths)),
                path=str(smallest),
            )


def _lines(path: Path) -> list[str]:
    with path.open("rb") as file:
        text = file.read(NOTE_BYTES).decode(errors="replace")
    return [line.strip().translate(CONTROL) for line in text.splitlines()] or [""]


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
