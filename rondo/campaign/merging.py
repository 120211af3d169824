"""Merging corpora, as libFuzzer's -merge=1 does: keep what shows something that nothing else does.

The key insight: an entry is worth keeping for the behaviours that no entry kept before it shows, so
trying the smallest ones first leaves a small corpus in one pass. Each entry runs in a process of
its own: what it shows must not depend on what ran before it, or the result would depend on the
order of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rondo.campaign.corpora import check_folders, framework_folder
from rondo.campaign.stop import Stop
from rondo.campaign.workbench import Workbench, open_workbench
from rondo.frameworks.base import CPU
from rondo.oracle.result import Result
from rondo.search.corpus import Corpus, Entry
from rondo.sequences.vocabulary import Vocabulary

ROUND = 4
"""Entries that each worker is given at a time, between two words of progress."""

Progress = Callable[[int, int, int], None]
"""Called with entries run, entries in all, behaviours so far."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge came to. `alarming` entries are left out: they are findings, no corpus."""

    entries: int
    kept: tuple[Entry, ...]
    behaviours: int
    alarming: int
    faulty: int


def merge(
    folders: tuple[Path, ...],
    *,
    framework: str,
    stop: Stop,
    preloads: tuple[str, ...] = (),
    subject: str = "",
    device: str = CPU,
    seconds: float = 60.0,
    workers: int = 1,
    progress: Progress = lambda done, total, behaviours: None,
) -> Merged:
    """Write into the first folder what the others show beyond it. Raises RondoError.

    What is in the first folder already stays. A stop raises StoppedError and adds nothing.
    """
    check_folders(folders)
    with open_workbench(
        framework,
        preloads=preloads,
        subject=subject,
        device=device,
        seconds=seconds,
        workers=workers,
        interrupted=stop.check,
    ) as bench:
        target = framework_folder(folders[0], bench.vocabulary.framework)
        own = _read([target], bench.vocabulary)
        present = {entry.data for entry in own}
        others = [e for e in _read(folders[1:], bench.vocabulary) if e.data not in present]
        corpus = Corpus(None, bench.vocabulary)
        for entry in own:
            corpus.put(entry)
        corpus.directory = target
        choice = _Choice(bench, progress, len(own) + len(others))
        choice.take(own)
        kept = []
        for entry in choice.take(others):
            corpus.add(entry.sequence)
            kept.append(entry)
        return choice.merged(kept)


def smallest_cover(
    folder: Path,
    *,
    framework: str,
    stop: Stop,
    preloads: tuple[str, ...] = (),
    subject: str = "",
    seconds: float = 60.0,
    workers: int = 1,
    progress: Progress = lambda done, total, behaviours: None,
) -> Merged:
    """Return the entries of `folder` that show all that its entries show. Raises RondoError."""
    check_folders((folder,))
    with open_workbench(
        framework,
        preloads=preloads,
        subject=subject,
        seconds=seconds,
        workers=workers,
        interrupted=stop.check,
    ) as bench:
        entries = _read([framework_folder(folder, bench.vocabulary.framework)], bench.vocabulary)
        choice = _Choice(bench, progress, len(entries))
        return choice.merged(list(choice.take(entries)))


def _read(folders: Iterable[Path], vocabulary: Vocabulary) -> list[Entry]:
    """Return the entries of `folders`, the smallest first; equal ones once."""
    corpus = Corpus(None, vocabulary)
    for folder in folders:
        corpus.load(framework_folder(folder, vocabulary.framework))
    return sorted(corpus, key=lambda entry: (len(entry.data), entry.data))


class _Choice:
    """Runs entries and chooses those that show something new."""

    def __init__(self, bench: Workbench, progress: Progress, total: int) -> None:
        self._bench = bench
        self._progress = progress
        self._total = total
        self._done = 0
        self._shown: set[int] = set()
        self._alarming = 0
        self._faulty = 0

    def take(self, entries: list[Entry]) -> list[Entry]:
        """Return the entries that show what none before them did."""
        chosen = []
        size = ROUND * self._bench.workers
        for start in range(0, len(entries), size):
            some = entries[start : start + size]
            results = self._bench.run_all([entry.data for entry in some])
            for entry, result in zip(some, results, strict=True):
                if self._is_new(result):
                    chosen.append(entry)
            self._done += len(some)
            self._progress(self._done, self._total, len(self._shown))
        return chosen

    def _is_new(self, result: Result | None) -> bool:
        if result is None:
            self._faulty += 1
            return False
        if result.alarms:
            self._alarming += 1
            return False
        new = result.behaviours.keys() - self._shown
        self._shown |= new
        return bool(new)

    def merged(self, kept: list[Entry]) -> Merged:
        """Return what it came to."""
        return Merged(self._total, tuple(kept), len(self._shown), self._alarming, self._faulty)
