"""The progress of shrinking: a bar on a terminal, a line for each shorter form in a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rondo.findings.shorten import Progress


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Yield what to call with the current number of steps and of executions."""
    if sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield _Lines().update


class _Lines:
    """Prints a line on standard error whenever there are fewer steps than before."""

    def __init__(self) -> None:
        self._steps: int | None = None

    def update(self, steps: int, executions: int) -> None:
        if self._steps is None or steps < self._steps:
            self._steps = steps
            print(f"{steps} steps after run {executions}", file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[runs]} runs"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("starting", total=None, runs=0)
        first: list[int] = []

        def update(steps: int, executions: int) -> None:
            first.append(steps)
            bar.update(
                task,
                description=f"{first[0]} -> {steps} steps",
                total=first[0],
                completed=first[0] - steps,
                runs=executions,
            )

        yield update
