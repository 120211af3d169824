"""Replaying: does the bug of a file show here and now? Pure: the caller runs the bytes.

The key insight: a replay must not be fooled in either direction. It shows the bug only when an
alarm of the same verdict, effect, place and exception comes up again, and it refuses a file whose
bytes now mean another sequence than the one its author saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from os.path import basename
from pathlib import Path

from rondo.errors import ReproducerError
from rondo.findings import reproducer as files
from rondo.findings.bucket import find_alarm
from rondo.findings.reproducer import Reproducer
from rondo.frameworks.base import AUTO, CPU
from rondo.oracle.result import Alarm, Identity, Result
from rondo.sequences.codec import MAGIC, CodecError, decode_strict
from rondo.sequences.step import describe
from rondo.sequences.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Replayable:
    """Bytes to replay and, where they come from a reproducer, what they should show."""

    data: bytes
    framework: str
    reproducer: Reproducer | None = None

    @property
    def expected(self) -> Identity | None:
        """The identity of the recorded alarm; None for a plain sequence or a recorded death."""
        if self.reproducer is None or self.reproducer.death:
            return None
        return self.reproducer.identity

    def device(self, given: str = "") -> str:
        """Return where its subjects are to live: as `given`, else where the finding was made."""
        if given or self.reproducer is None:
            return given or AUTO
        return self.reproducer.environment.get(files.DEVICE, CPU)


def read(path: Path, *, framework: str = "torch") -> Replayable:
    """Read a reproducer, or a plain sequence of `framework`. Raises ReproducerError."""
    try:
        with path.open("rb") as file:
            content = file.read(files.LARGEST + 1)
    except OSError as error:
        raise ReproducerError(f"cannot read {path}: {error.strerror or error}") from None
    if content.startswith(MAGIC):
        return Replayable(content, framework)
    loaded = files.load(path)
    return Replayable(loaded.data, loaded.framework, loaded)


def check_vocabulary(replayable: Replayable, vocabulary: Vocabulary) -> None:
    """Raise ReproducerError unless the bytes mean here what they meant where they were written."""
    try:
        sequence = decode_strict(replayable.data, vocabulary)
    except CodecError as error:
        raise ReproducerError(f"its sequence cannot be read: {error}") from None
    if replayable.reproducer is None:
        return
    meant, means = replayable.reproducer.decoded, describe(sequence, vocabulary)
    for name, value in means.items():
        if meant.get(name) != value:
            raise ReproducerError(
                f"made with other subjects: its {name} was {meant.get(name)!r}, here {value!r}"
            )


def shown_alarm(replayable: Replayable, result: Result) -> Alarm | None:
    """Return the alarm that confirms the bug: the recorded one's kin, or any for a plain file."""
    if replayable.expected is None:
        return result.alarms[0] if result.alarms else None
    return find_alarm(result, replayable.expected, strict=False)


def missing_preloads(replayable: Replayable, preloads: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of preloads that the reproducer was made with and that were not given."""
    given = {basename(path) for path in preloads}
    recorded = replayable.reproducer
    return tuple(name for name in (recorded.preloads if recorded else ()) if name not in given)
