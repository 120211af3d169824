"""Lines of the compiler's source as a genuine coverage.py data file, and figures per tree.

The key insight: coverage.py's data file is an open door. Once lines are in it, its own reporter,
`coverage report`, `coverage combine` and every editor that shows coverage work unchanged, and
none of that has to be written, or trusted, here.

A campaign's folder holds `coverage/.coverage`, written beside the campaign and replaced whole, so
that it can be read at any time; campaigns that share a folder have a `.coverage.*` each.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import coverage
from coverage import CoverageData
from coverage.exceptions import CoverageException

FOLDER = "coverage"
DATA_FILE = ".coverage"
TOTAL = "total"

Lines = Mapping[str, Iterable[int]]


@dataclass(frozen=True, slots=True)
class TreeFigure:
    """How much of one source tree was reached."""

    tree: str
    lines_hit: int
    lines_total: int

    @property
    def percent(self) -> float:
        """Of the tree's executable lines; a tree without any counts as reached."""
        return 100.0 * self.lines_hit / self.lines_total if self.lines_total else 100.0

    def __str__(self) -> str:
        return f"{self.tree}: {self.lines_hit} of {self.lines_total} lines ({self.percent:.1f} %)"


# ------------------------------------------------------------------------------------ data files


def write_data(path: str | os.PathLike[str], lines: Lines, *, context: str = "") -> None:
    """Writes line sets as a coverage.py data file, at once or not at all.

    The file is made beside its final place and moved there, because a reader may come at any
    moment and the data file is a database that takes many writes.
    """
    target = Path(path).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".writing-") as folder:
        draft = Path(folder, DATA_FILE)
        data = CoverageData(basename=os.fspath(draft))
        if context:
            data.set_context(context)
        # add_lines with nothing at all writes no file; an empty campaign still has a report.
        data.add_lines({name: set(numbers) for name, numbers in lines.items()})
        data.touch_files(())
        data.write()
        data.close(force=True)
        os.replace(draft, target)


def read_file(path: Path) -> dict[str, list[int]]:
    """What one data file holds, nothing when it is not there; raises CoverageException."""
    return _read([path] if path.exists() else [])


def read_data(data_dir: str | os.PathLike[str]) -> dict[str, list[int]]:
    """The union of all coverage data files in a folder; the files stay as they are."""
    return _read(data_files(data_dir))


def _read(paths: Iterable[Path]) -> dict[str, list[int]]:
    data = CoverageData(no_disk=True)
    for path in paths:
        part = CoverageData(basename=os.fspath(path))
        part.read()
        data.update(part)
        part.close(force=True)
    lines = {name: sorted(data.lines(name) or ()) for name in sorted(data.measured_files())}
    data.close(force=True)
    return lines


def data_files(data_dir: str | os.PathLike[str]) -> list[Path]:
    """`.coverage` and `.coverage.*` in a folder, in order."""
    return sorted(
        path
        for path in Path(data_dir).glob(f"{DATA_FILE}*")
        if path.is_file() and not path.name.endswith(("-journal", "-wal", "-shm"))
    )


# --------------------------------------------------------------------------------------- figures


def _sources(tree: str) -> list[str]:
    path = Path(tree)
    if path.is_file():
        return [tree]
    return sorted(os.fspath(found) for found in path.rglob("*.py"))


def figures(lines: Lines, trees: Sequence[str]) -> list[TreeFigure]:
    """One figure per tree, over every source file in it, reached or not, and then the total.

    The same numbers as `coverage report` gives: coverage.py decides what a statement is and which
    are excluded. A file that lies in two trees counts in both, and once in the total. The first
    call parses every file, which takes about 20 seconds for all of torch's compiler; use
    `LineStore.tree_counts` for a live figure.
    """
    with _loaded(lines) as reporter:
        size = {name: _statements(reporter, name) for tree in trees for name in _sources(tree)}
        found = [_figure(tree, _sources(tree), size) for tree in trees]
        return [*found, _figure(TOTAL, size, size)]


def _figure(label: str, names: Iterable[str], size: Mapping[str, tuple[int, int]]) -> TreeFigure:
    sizes = [size[name] for name in names]
    return TreeFigure(label, sum(hit for hit, _ in sizes), sum(total for _, total in sizes))


def _statements(reporter: coverage.Coverage, name: str) -> tuple[int, int]:
    """How many statements of a file were reached, and how many there are."""
    try:
        _, statements, _, missing, _ = reporter.analysis2(name)
    except CoverageException:
        return 0, 0
    return len(statements) - len(missing), len(statements)


@contextmanager
def _loaded(lines: Lines) -> Iterator[coverage.Coverage]:
    """A coverage.py reporter over these lines, blind to any configuration file lying about."""
    with tempfile.TemporaryDirectory(prefix="rondo-coverage-") as folder:
        combined = Path(folder, DATA_FILE)
        write_data(combined, lines)
        reporter = coverage.Coverage(
            data_file=os.fspath(combined), config_file=False, messages=False
        )
        reporter.load()
        yield reporter
        reporter.get_data().close(force=True)


# ---------------------------------------------------------------------------------------- report


def html(
    data_dir: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    title: str = "Compiler lines reached",
) -> float:
    """coverage.py's own HTML report of a folder's data files; returns the total per cent.

    Only files that were reached have a page: a report over all of a framework's sources takes
    minutes and says little. `figures` counts the others too.
    """
    lines = read_data(data_dir)
    if not lines:
        raise FileNotFoundError(f"{os.fspath(data_dir)} holds no coverage data")
    # Functions that the compiler made up have names of files that never were: no page for them.
    there = {name: numbers for name, numbers in lines.items() if os.path.exists(name)}
    with _loaded(there or lines) as reporter:
        return reporter.html_report(
            directory=os.fspath(out_dir), ignore_errors=True, title=title, skip_empty=True
        )


def write_html(
    campaign_dir: Path, out: Path, *, trees: Sequence[str] | None = None
) -> list[TreeFigure]:
    """What `rondo coverage html DIR` does: the report of a campaign's lines, and its figures.

    Without `trees`, each reached file is its own tree's only member: the figures then are per
    file, and their total that of the report.
    """
    data_dir = Path(campaign_dir, FOLDER)
    html(data_dir, out)
    lines = read_data(data_dir)
    return figures(lines, sorted(lines) if trees is None else trees)
