"""A campaign as a bench drives it: `python -m rondo.fuzz --json`, its events as they come.

The key insight: a bench stops a campaign at what it has been waiting for, so events are read while
it runs, and a campaign that says nothing any more must not hold the bench up.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

import click

ROOT = Path(__file__).parents[1]
Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
START_SECONDS = 300.0
"""Importing the framework is not the campaign's time; a campaign's clock starts after it."""
GRACE = 60.0
"""Seconds to end in, once asked to."""


def at_once(run: Callable[[Task], Outcome], tasks: Sequence[Task], jobs: int) -> Iterator[Outcome]:
    """Run tasks, `jobs` at a time, and yield each outcome as it comes.

    Ended early, what runs is finished, and the rest is not begun.
    """
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for each in as_completed([pool.submit(run, task) for task in tasks]):
                yield each.result()
        finally:
            pool.shutdown(cancel_futures=True)


class Campaign:
    """A running campaign of `seconds`: corpus, findings and log in `folder`, seeds from `seeds`."""

    def __init__(self, folder: Path, seeds: Path, flags: Sequence[str], *, seconds: float) -> None:
        corpus = folder / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "rondo.fuzz", str(corpus), str(seeds), "--json"]
        command += ["--lines=0", f"-artifact_prefix={folder / 'findings'}"]
        command += [f"-max_total_time={seconds:g}", *flags]
        self._deadline = time.monotonic() + START_SECONDS + seconds + GRACE
        self._path = folder / "log"
        self._log = self._path.open("wb")
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield what the campaign says until it ends, or does not end in time.

        Raises ClickException when it ended by a failure: it had not all the time that it was given.
        """
        while (left := self._deadline - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                return
            if line is None:
                self._check()
                return
            yield json.loads(line)

    def _check(self) -> None:
        try:
            code = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            raise click.ClickException("the campaign says nothing and does not end") from None
        if code:
            said = self._path.read_text(errors="replace").strip().splitlines()[-1:]
            raise click.ClickException(f"the campaign ended with {code}: {''.join(said) or '-'}")

    def end(self) -> None:
        """End the campaign politely, and by force when it does not follow."""
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                self._process.send_signal(number)
                try:
                    self._process.wait(GRACE)
                except subprocess.TimeoutExpired:
                    continue
        self._log.close()
