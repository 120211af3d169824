"""Reproducers: a finding as a msgpack file. Data only; loading one never runs anything from it.

Schema, version 1 (a map; every key is required unless marked):

    format        "rondo-reproducer"
    version       1
    rondo         version of Rondo that wrote it
    framework     name of the adapter
    data          canonical bytes of the sequence
    decoded       the same as names, for reading and for noticing that subjects have changed
    identity      what the alarm is: verdict, effect, backend, place, exposing, exception
    step          position of the exposing step
    differences   paths on which arms disagree, with each arm's value as a short text
    steps         one row per step: text, verdict, digests of the three arms
    environment   names and values as a maintainer asks for them
    original      bytes before shortening
    preloads      file names of --preload at the time (names only: their code is not here)
    death         optional: how the process died (segfault, hang ...), for findings of that kind

Limits on load: LARGEST bytes, nesting DEEPEST, strings LONGEST. Anything else is an error.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgpack

import rondo
from rondo.errors import ArtifactError, ReproducerError
from rondo.oracle.result import Alarm, Difference, Identity, StepReport

FORMAT = "rondo-reproducer"
VERSION = 1
LARGEST = 1 << 20
LONGEST = 1 << 16
DEEPEST = 8
SUFFIX = ".rondo"


@dataclass(frozen=True, slots=True)
class Reproducer:
    """A finding, complete enough to replay and to read."""

    framework: str
    data: bytes
    decoded: dict[str, Any]
    identity: Identity
    step: int
    differences: tuple[Difference, ...] = ()
    steps: tuple[StepReport, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    original: bytes = b""
    preloads: tuple[str, ...] = ()
    death: str = ""
    rondo: str = rondo.__version__

    @property
    def alarm(self) -> Alarm:
        """The alarm that this reproducer stands for."""
        return Alarm(self.step, self.identity, self.differences)


def pack(reproducer: Reproducer) -> bytes:
    """Return the file's bytes."""
    fields = asdict(reproducer)
    packed: bytes = msgpack.packb({"format": FORMAT, "version": VERSION, **fields})
    return packed


def unpack(content: bytes) -> Reproducer:
    """Return the reproducer in `content`. Raises ReproducerError with one line on anything odd."""
    if len(content) > LARGEST:
        raise ReproducerError(f"a reproducer of {len(content)} bytes; the limit is {LARGEST}")
    try:
        fields = msgpack.unpackb(
            content,
            max_str_len=LONGEST,
            max_bin_len=LONGEST,
            max_array_len=LONGEST,
            max_map_len=LONGEST,
        )
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise ReproducerError(f"not a reproducer, or damaged ({error or 'truncated'})") from None
    if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
        raise ReproducerError("not a reproducer: it does not say that it is one")
    version = fields.pop("version", None)
    if version != VERSION:
        raise ReproducerError(f"reproducer version {version}; this Rondo reads version {VERSION}")
    try:
        _check_depth(fields)
        return _from_fields(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise ReproducerError(f"a reproducer with a wrong or missing field: {error}") from None


def _check_depth(value: object, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST}")
    if isinstance(value, dict):
        for item in value.values():
            _check_depth(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_depth(item, depth + 1)


TYPES: dict[str, type] = {
    "framework": str,
    "data": bytes,
    "decoded": dict,
    "step": int,
    "environment": dict,
    "original": bytes,
    "death": str,
    "rondo": str,
}


def _from_fields(fields: dict[str, Any]) -> Reproducer:
    for name, kind in TYPES.items():
        if type(fields.get(name)) is not kind:
            raise TypeError(f"{name} must be {kind.__name__}")
    identity = _texts(Identity, fields.pop("identity"))
    differences = tuple(_texts(Difference, each) for each in fields.pop("differences"))
    steps = tuple(_texts(StepReport, each) for each in fields.pop("steps"))
    preloads = tuple(str(name) for name in fields.pop("preloads"))
    for name, value in fields["environment"].items():
        if type(name) is not str or type(value) is not str:
            raise TypeError("environment must map names to texts")
    return Reproducer(
        identity=identity, differences=differences, steps=steps, preloads=preloads, **fields
    )


def _texts(kind: Any, fields: dict[str, Any]) -> Any:
    """Build a record all of whose fields are texts."""
    if type(fields) is not dict:
        raise TypeError(f"{kind.__name__} must be a map")
    for name, value in fields.items():
        if type(value) is not str:
            raise TypeError(f"{name} must be a text")
    return kind(**fields)


def save(reproducer: Reproducer, path: Path) -> None:
    """Write atomically: a reader sees the whole file or none. Raises ArtifactError."""
    write_atomically(path, pack(reproducer))


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path` through a temporary file beside it. Raises ArtifactError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ArtifactError(f"cannot write {path}: {error.strerror or error}") from None


def load(path: Path) -> Reproducer:
    """Read a reproducer. Raises ReproducerError naming the file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise ReproducerError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        return unpack(content)
    except ReproducerError as error:
        raise ReproducerError(f"{path}: {error}") from None
