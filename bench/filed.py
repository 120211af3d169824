"""The findings of a campaign's folder, and rows of a bench that are kept in a folder of its own.

The key insight: a bench over a campaign's findings takes hours on a busy machine and may be ended
at any time. So each row is on disk before the next one begins, under a key that says what it is of,
and another run over the same folder makes only those that are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rows import add_row, read_rows

from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.workbench import run_showing
from rondo.errors import ArtifactError
from rondo.findings.bucket import Bucket, bucket_of_finding
from rondo.findings.reproducer import Reproducer, load
from rondo.oracle.result import Result, Verdict

REPRODUCER = "reproducer.rondo"


@dataclass(frozen=True, slots=True)
class Filed:
    """One finding as a campaign has filed it."""

    path: Path
    reproducer: Reproducer

    @property
    def name(self) -> str:
        """The bucket's folder."""
        return self.path.parent.name

    @property
    def bucket(self) -> Bucket:
        """Its bucket, as the file itself says it."""
        return bucket_of_finding(self.reproducer)

    @property
    def key(self) -> str:
        """What a row about this very finding is kept under."""
        digest = blake2b(self.reproducer.data, digest_size=6).hexdigest()
        return f"{self.name} {digest}"


def filed(folder: Path, names: tuple[str, ...] = ()) -> list[Filed]:
    """Return the findings below a campaign's folder, one for each bucket. Raises RondoError.

    With `names`, those whose bucket contains one of them.
    """
    if not folder.is_dir():
        raise ArtifactError(f"{folder} is no folder of findings")
    found: dict[str, Filed] = {}
    for path in sorted(folder.rglob(REPRODUCER)):
        each = Filed(path, load(path))
        if not names or any(name in each.name for name in names):
            found.setdefault(each.bucket.name, each)
    if not found:
        raise ArtifactError(f"{folder} holds no findings that are asked for")
    if len({each.reproducer.framework for each in found.values()}) > 1:
        raise ArtifactError(f"{folder} holds findings of several frameworks; give one's folder")
    if any(each.reproducer.preloads for each in found.values()):
        raise ArtifactError(f"{folder} holds findings made under --preload, which a bench lacks")
    return list(found.values())


class Ledger:
    """Rows as lines of JSON in `FOLDER/NAME.jsonl`, or in memory without a folder."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self.path = folder / f"{name}.jsonl" if folder else None
        self._rows: dict[str, dict[str, Any]] = {}
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._rows = {each["key"]: each["row"] for each in read_rows(self.path)}

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the row that an earlier run, or this one, has made."""
        return self._rows.get(key)

    def add(self, key: str, row: dict[str, Any]) -> None:
        """Keep a row."""
        self._rows[key] = row
        if self.path is not None:
            add_row(self.path, {"key": key, "row": row})


class Runner:
    """Runs bytes as their verdict needs it: some arms run only where they are asked for."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self._verdict = ""

    def about(self, verdict: str) -> None:
        """Have what is run from now on show bugs of this verdict."""
        self._verdict = verdict
        self.executor.always_reset = verdict == Verdict.MASKED.value

    def run(self, data: bytes, *, fresh: bool = True) -> Result:
        """Return the result of `data`; a sequence that cannot be executed shows nothing."""
        try:
            if fresh or self._verdict == Verdict.LEAKED.value:
                vocabulary = self.executor.server.vocabulary
                return run_showing(self._verdict, data, self.executor, vocabulary)
            return self.executor.run(data)
        except ExecutionFaultError:
            return Result("fault")
