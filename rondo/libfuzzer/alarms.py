"""From an alarm in the target's process to a crash that libFuzzer may report.

The key insight: a target's process has run hundreds of sequences, so an alarm in it proves
nothing yet. The campaign's own triage decides - known, flaky, or confirmed in fresh processes,
shortened and filed - through a server process that is started at the first alarm and not before:
most runs of a target have none, and pay nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from hashlib import sha1
from pathlib import Path
from typing import NoReturn

from rondo.campaign.artifacts import FAULTS, Artifacts
from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.campaign.register import Register
from rondo.campaign.stats import Stats
from rondo.campaign.status import FindingNote
from rondo.campaign.stop import StoppedError
from rondo.campaign.triage import Triage
from rondo.errors import EXIT_BAD_INPUT, ReproducerError
from rondo.findings import reproducer as files
from rondo.findings.bucket import Bucket, bucket_of
from rondo.libfuzzer.flags import Options
from rondo.oracle.result import Result
from rondo.sequences.codec import decode
from rondo.sequences.vocabulary import Vocabulary

TRIAGE_SECONDS = 90.0
"""How long one input's alarms are looked into. What is confirmed by then is filed as short as it
has become: libFuzzer counts this as time of the input, and ends the target at its -timeout."""

BATCH = 16
"""Executions that one worker of the triage serves, as in a campaign."""


class ConfirmedBugError(Exception):
    """Arms disagree, and two fresh processes showed it from the bytes alone."""


def known_buckets(folders: Iterable[Path], vocabulary: Vocabulary) -> list[Bucket]:
    """Return the buckets of all reproducers below `folders`. What cannot be read is not known."""
    buckets = []
    for path in sorted(path for folder in folders for path in folder.rglob(f"*{files.SUFFIX}")):
        try:
            found = files.load(path)
        except ReproducerError:
            continue
        if found.framework == vocabulary.framework:
            buckets.append(bucket_of(found.identity, decode(found.data, vocabulary)))
    return buckets


class Alarms:
    """What becomes of a target's alarms."""

    def __init__(self, options: Options, framework: str, vocabulary: Vocabulary) -> None:
        self.options = options
        self.stats = Stats()
        self.findings = 0
        self._framework = framework
        self._vocabulary = vocabulary
        self._artifacts = Artifacts(options.artifacts)
        self._deadline = 0.0
        self._notes: list[FindingNote] = []
        self._register = Register()
        self._register.buckets.update(dict.fromkeys(known_buckets(options.known, vocabulary)))
        self._triage: Triage | None = None
        self._server: Server | None = None

    def examine(self, data: bytes, result: Result, *, given: bytes) -> None:
        """Look into the alarms of `data`. Raises ConfirmedBugError at a new bug.

        `given` is what libFuzzer gave and will write down. Where it is not canonical, or was meant
        for another back end, a crash file with `data` is written as well, so that one of the two
        replays.
        """
        triage = self._triage or self._start()
        self._notes.clear()
        self._deadline = time.monotonic() + min(TRIAGE_SECONDS, self.options.timeout / 2)
        self._register.meet(data, decode(data, self._vocabulary).subject, result, self.stats)
        try:
            while (case := self._register.take()) is not None:
                note = triage.examine(case)
                if note is not None:
                    self._notes.append(note)
                triage.settle(case)
        except StoppedError:
            self._register.open.clear()
            self._register.waiting.clear()
        if not self._notes:
            return
        self.findings += len(self._notes)
        crash = f"{self.options.artifact_prefix}crash-{sha1(data).hexdigest()}"
        if self.options.keep_going or given != data:
            files.write_atomically(Path(crash), data)
        for note in self._notes:
            self.say(f"{note.bucket}; reproducer: {note.path}; crash file: {crash}")
        if not self.options.keep_going:
            told = "; ".join(f"{note.bucket} ({note.size}): {note.path}" for note in self._notes)
            raise ConfirmedBugError(told)

    def keep_fault(self, data: bytes, trace: str) -> None:
        """Keep a sequence that made a subject, or Rondo, raise: no bug of a compiler."""
        self.stats.faults += 1
        path = self._artifacts.keep(FAULTS, data, trace)
        self.say(f"a sequence could not be executed ({trace.strip().splitlines()[-1]}): {path}")

    def close(self) -> None:
        """End the server, if one was started; under libFuzzer it ends with the process."""
        if self._server is not None:
            self._server.close()

    def say(self, text: str) -> None:
        """Print a line among libFuzzer's own."""
        print(f"RONDO: {text}", file=sys.stderr, flush=True)

    def refuse(self, reason: str) -> NoReturn:
        """End the process in one line: what raises in its callback is a crash to libFuzzer."""
        print(f"error: {reason}", file=sys.stderr, flush=True)
        os._exit(EXIT_BAD_INPUT)

    def _start(self) -> Triage:
        self._server = Server(self._framework, preloads=self.options.preload)
        executor = Executor(self._server, Limits(), BATCH, self._check_time)
        self._triage = Triage(
            executor,
            self._vocabulary,
            self._artifacts,
            self._register,
            self.stats,
            doing=lambda text: None,
            preloads=self.options.preload,
        )
        return self._triage

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise StoppedError
