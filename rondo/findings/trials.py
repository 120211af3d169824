"""What shortening has tried: candidates and what they showed, in memory and in a file beside it.

    file   = header trial*          each one msgpack object
    header = {"format": "rondo-trials", "version": 2, "start": bytes, "identity": {...},
              "environment": {...}}
    trial  = [bytes, showings]      false when nothing can be said, else an array of [alarm, anew],
                                    empty when the bug was gone: an alarm as a map of step, identity
                                    and differences; whether the exposing call was compiled: true,
                                    false or nil

The key insight: shortening is a function of its start and of what candidates show, so the trials
are all the state that it has. Resuming is starting again with the answers at hand: no execution is
made twice, and the result is what an undisturbed run would have given. The file is appended to as
trials come in and whatever a killed process left half written at its end is cut off.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgpack

from rondo.errors import ReproducerError
from rondo.findings.reproducer import LONGEST, WIDEST, text_record
from rondo.oracle.result import Alarm, Difference, Identity

FORMAT = "rondo-trials"
VERSION = 2
LARGEST = 64 << 20


@dataclass(frozen=True, slots=True)
class Showing:
    """An alarm that a candidate showed, and whether its exposing call was compiled anew."""

    alarm: Alarm
    anew: bool | None = None


class Trials:
    """Candidates that were tried: bytes to what they showed, nothing where the bug was gone.

    What is kept does not depend on which alarm was looked for at the time, so that it holds when a
    bug is followed to a more telling place. `unclear` holds those of which nothing can be said:
    they died or could not be executed.
    """

    def __init__(self) -> None:
        self.unclear: set[bytes] = set()
        self._known: dict[bytes, tuple[Showing, ...]] = {}
        self._file: BinaryIO | None = None

    def __contains__(self, data: bytes) -> bool:
        return data in self._known

    def __len__(self) -> int:
        return len(self._known)

    def get(self, data: bytes) -> tuple[Showing, ...]:
        """Return what `data` showed; nothing when the bug was gone, or it was not tried."""
        return self._known.get(data, ())

    def add(self, data: bytes, shown: tuple[Showing, ...], *, unclear: bool = False) -> None:
        """Remember what `data` showed, in the file too if there is one."""
        self._note(data, shown, unclear)
        if self._file is not None:
            showings = False if unclear else [[asdict(each.alarm), each.anew] for each in shown]
            self._file.write(msgpack.packb([data, showings]))
            self._file.flush()

    def forget_unclear(self) -> None:
        """Have candidates of which nothing could be said be tried again."""
        for data in self.unclear:
            del self._known[data]
        self.unclear.clear()

    def _note(self, data: bytes, shown: tuple[Showing, ...], unclear: bool) -> None:
        self._known[data] = shown
        (self.unclear.add if unclear else self.unclear.discard)(data)

    def keep_in(self, path: Path, header: dict[str, Any], *, resume: bool) -> int:
        """Keep trials in `path`; with `resume`, take over those it holds and return how many.

        `header` says what the trials are about. Raises ReproducerError when the file cannot be
        used, or is about something else.
        """
        header = {"format": FORMAT, "version": VERSION, **header}
        try:
            end = self._take_over(path, header) if resume and path.exists() else 0
            self._file = path.open("r+b" if end else "wb")
            self._file.truncate(end)
            self._file.seek(end)
            if not end:
                self._file.write(msgpack.packb(header))
                self._file.flush()
        except OSError as error:
            raise ReproducerError(f"cannot use {path}: {error.strerror or error}") from None
        return len(self)

    def close(self) -> None:
        """Close the file; it stays where it is."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take_over(self, path: Path, header: dict[str, Any]) -> int:
        """Read the trials of `path` and return where the last whole one ends."""
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ReproducerError(f"{path} is larger than {LARGEST} bytes")
        reader = msgpack.Unpacker(
            max_buffer_size=LARGEST,
            max_str_len=LONGEST,
            max_bin_len=LONGEST,
            max_array_len=WIDEST,
            max_map_len=WIDEST,
            max_ext_len=0,
        )
        reader.feed(content)
        try:
            found = reader.unpack()
        except (ValueError, msgpack.UnpackException):
            found = None
        if found != header:
            raise ReproducerError(
                f"{path} is about another sequence, version or environment;"
                " without --resume it is written anew"
            )
        end: int = reader.tell()
        while True:
            try:
                data, showings = reader.unpack()
                unclear = showings is False
                shown = () if unclear else tuple(_showing(*each) for each in showings)
                self._note(_bytes(data), shown, unclear)
            except (KeyError, TypeError, ValueError, msgpack.UnpackException):
                return end
            end = reader.tell()


def _bytes(data: object) -> bytes:
    if not isinstance(data, bytes):
        raise TypeError("a trial is about bytes")
    return data


def _showing(fields: dict[str, Any], anew: object) -> Showing:
    if anew is not None and not isinstance(anew, bool):
        raise TypeError("compiled anew, not, or unknown")
    differences = tuple(text_record(Difference, each) for each in fields["differences"])
    identity = text_record(Identity, fields["identity"])
    return Showing(Alarm(int(fields["step"]), identity, differences), anew)
