"""Reproducers: a finding as a msgpack file. Data only; loading one never runs anything from it.

Schema, version 3 (a map; every key is required unless marked):

    format        "rondo-reproducer"
    version       3
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
    death         how the process died (segfault, hang ...), empty for findings of another kind
    minimal       since version 2: whether each single removal was tried and lost the bug
    reason        since version 2: why it is not minimal, empty when it is
    layer         since version 2: the retained layer at fault, empty until it is located
    memory_mb     since version 3: the memory limit that was passed, 0 where none was

Limits on load: LARGEST bytes, nesting DEEPEST, strings LONGEST, maps and lists WIDEST. Anything
else is an error of one line. Texts lose their control characters, since they end on terminals.

The key insight: what a damaged file announces must never be believed before it is there. A list
header costs three bytes and makes a reader reserve room for what it promises, so the product of
WIDEST and the nesting that msgpack itself allows (1024) bounds what a hostile megabyte can reserve.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgpack

import rondo
from rondo.drafts import written_whole
from rondo.errors import ArtifactError, ReproducerError
from rondo.oracle.result import Alarm, Difference, Identity, Result, StepReport
from rondo.sequences.codec import decode
from rondo.sequences.step import describe
from rondo.sequences.vocabulary import Vocabulary

FORMAT = "rondo-reproducer"
VERSION = 3
ADDED: dict[int, dict[str, Any]] = {
    2: {"minimal": False, "reason": "", "layer": ""},
    3: {"memory_mb": 0},
}
"""What each version added, with the values that stand for its absence in older files."""
DEVICE = "device"
"""The name in the environment that says where the subjects lived; files without it mean the CPU."""
LARGEST = 1 << 20
LONGEST = 1 << 16
WIDEST = 1 << 10
DEEPEST = 8
MOST_MEMORY_MB = 1 << 24
"""No machine has more; a limit beyond that is damage."""
SUFFIX = ".rondo"
CONTROL = {code: "?" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


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
    minimal: bool = False
    reason: str = ""
    layer: str = ""
    memory_mb: int = 0

    @property
    def alarm(self) -> Alarm:
        """The alarm that this reproducer stands for."""
        return Alarm(self.step, self.identity, self.differences)


def compose(
    data: bytes, alarm: Alarm, vocabulary: Vocabulary, *, result: Result | None = None, **more: Any
) -> Reproducer:
    """Return the reproducer of `alarm` in `data`; `result` is a run that showed it."""
    return Reproducer(
        framework=vocabulary.framework,
        data=data,
        decoded=describe(decode(data, vocabulary), vocabulary),
        identity=alarm.identity,
        step=alarm.step,
        differences=alarm.differences,
        steps=result.steps if result else (),
        **more,
    )


def pack(reproducer: Reproducer) -> bytes:
    """Return the file's bytes."""
    fields = asdict(reproducer)
    packed: bytes = msgpack.packb({"format": FORMAT, "version": VERSION, **fields})
    return packed


def unpack(content: bytes) -> Reproducer:
    """Return the reproducer in `content`. Raises ReproducerError with one line on anything odd."""
    fields = unpack_map(content)
    if fields.pop("format", None) != FORMAT:
        raise ReproducerError("not a reproducer: it does not say that it is one")
    version = fields.pop("version", None)
    if type(version) is not int or not 1 <= version <= VERSION:
        hint = "it needs a newer Rondo" if type(version) is int and version > VERSION else "damaged"
        raise ReproducerError(
            f"reproducer version {repr(version)[:20]}; this Rondo reads 1 to {VERSION}: {hint}"
        )
    for added in range(version + 1, VERSION + 1):
        fields = {**ADDED[added], **fields}
    try:
        return _from_fields(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise ReproducerError(
            f"a reproducer with a wrong or missing field: {_one_line(error)}"
        ) from None


def unpack_map(content: bytes) -> dict[str, Any]:
    """Return the map that `content` packs, within the limits on load. Raises ReproducerError."""
    if len(content) > LARGEST:
        raise ReproducerError(f"a file of more than {LARGEST} bytes; that is the limit")
    try:
        fields = msgpack.unpackb(
            content,
            max_str_len=LONGEST,
            max_bin_len=LONGEST,
            max_array_len=WIDEST,
            max_map_len=WIDEST,
            max_ext_len=0,
        )
        if not isinstance(fields, dict):
            raise ReproducerError("not a reproducer: it does not say that it is one")
        checked: dict[str, Any] = _checked(fields)
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as error:
        told = _one_line(error) or "truncated"
        raise ReproducerError(f"not a reproducer, or damaged ({told})") from None
    return checked


def _one_line(error: Exception) -> str:
    """Return what `error` says, which may quote the file, on one short line."""
    return " ".join(str(error).split())[:100]


def _checked(value: Any, depth: int = 0) -> Any:
    """Return `value` with clean texts. Raises ValueError on depth and on types of no field."""
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST}")
    if isinstance(value, str):
        return value.translate(CONTROL)
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise ValueError("a key that is no text")
        return {name.translate(CONTROL): _checked(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_checked(item, depth + 1) for item in value]
    if isinstance(value, bool | int | bytes):
        return value
    raise ValueError(f"a {type(value).__name__}, which no field holds")


TYPES: dict[str, type] = {
    "framework": str,
    "data": bytes,
    "decoded": dict,
    "step": int,
    "differences": list,
    "steps": list,
    "environment": dict,
    "original": bytes,
    "preloads": list,
    "death": str,
    "rondo": str,
    "minimal": bool,
    "reason": str,
    "layer": str,
    "memory_mb": int,
}
DECODED: dict[str, type] = {
    "framework": str,
    "architecture": str,
    "constructs": list,
    "seed": int,
    "options": dict,
    "steps": list,
}


def _from_fields(fields: dict[str, Any]) -> Reproducer:
    _check_types(fields, TYPES)
    decoded = fields["decoded"]
    _check_types(decoded, DECODED)
    for texts in (decoded["constructs"], decoded["steps"], fields["preloads"]):
        _check_texts(texts)
    _check_texts(decoded["options"].values())
    _check_texts(fields["environment"].values())
    if not 0 <= fields["step"] < max(1, len(decoded["steps"])):
        raise ValueError(f"step {fields['step']} of {len(decoded['steps'])}")
    if not 0 <= fields["memory_mb"] <= MOST_MEMORY_MB:
        raise ValueError(f"a memory limit of {fields['memory_mb']} Mb")
    identity = text_record(Identity, fields.pop("identity"))
    differences = tuple(text_record(Difference, each) for each in fields.pop("differences"))
    steps = tuple(text_record(StepReport, each) for each in fields.pop("steps"))
    preloads = tuple(fields.pop("preloads"))
    return Reproducer(
        identity=identity, differences=differences, steps=steps, preloads=preloads, **fields
    )


def _check_types(fields: dict[str, Any], types: dict[str, type]) -> None:
    for name, kind in types.items():
        if type(fields.get(name)) is not kind:
            raise TypeError(f"{name} must be {kind.__name__}")


def _check_texts(values: Iterable[object]) -> None:
    for value in values:
        if type(value) is not str:
            raise TypeError(f"a {type(value).__name__} where a text must be")


def text_record(kind: Any, fields: object) -> Any:
    """Build a record all of whose fields are texts. Raises TypeError."""
    if type(fields) is not dict:
        raise TypeError(f"{kind.__name__} must be a map")
    _check_texts(fields.values())
    return kind(**fields)


def save(reproducer: Reproducer, path: Path) -> None:
    """Write atomically: a reader sees the whole file or none. Raises ArtifactError."""
    write_atomically(path, pack(reproducer))


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path` through a temporary file beside it. Raises ArtifactError."""
    write_with(path, lambda file: file.write(content))


def write_with(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Have `write` fill a temporary file that becomes `path` at the end. Raises ArtifactError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ArtifactError(f"cannot write {path}: {error.strerror or error}") from None


def check_target(path: Path) -> None:
    """Raise ArtifactError where `path` cannot be written: before minutes are spent on it."""
    if os.path.isdir(path):
        raise ArtifactError(f"cannot write {path}: it is a folder")
    parent = path.absolute().parent
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # not there yet; what is in its way shows below
    except OSError as error:
        raise ArtifactError(f"cannot write {path}: {error.strerror or error}") from None
    while not os.path.lexists(parent):
        parent = parent.parent
    if not os.path.isdir(parent):
        raise ArtifactError(f"cannot write {path}: {parent} is no folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ArtifactError(f"cannot write {path}: no permission to write into {parent}")


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
