"""What the driver, the server and the workers say to each other: length-prefixed msgpack.

The key insight: only plain data crosses a process boundary. A worker is running a program that may
have corrupted its memory, so the driver must not unpickle what it says; the worst that a damaged
message can do is raise WireError.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import asdict
from typing import Any

import msgpack

from rondo.errors import RondoError
from rondo.sequences.vocabulary import (
    ActionSpec,
    ArchitectureSpec,
    Dimension,
    InputSpec,
    Schema,
    TargetSpec,
    Vocabulary,
)

LENGTH = struct.Struct("<I")
LARGEST = 64 << 20
"""No message is longer; a length that claims so is damage."""

Message = dict[str, Any]


class WireError(RondoError):
    """The other process closed the connection, or said something that is no message."""

    exit_code = 3
    slug = "wire"


def send(connection: socket.socket, message: Message) -> None:
    """Send one message. Raises WireError when the other end is gone."""
    payload = msgpack.packb(message)
    try:
        connection.sendall(LENGTH.pack(len(payload)) + payload)
    except OSError as error:
        raise WireError(f"the connection is gone ({error})") from None


def receive(connection: socket.socket) -> Message:
    """Return the next message. Raises WireError at the end of the stream or on damage."""
    (length,) = LENGTH.unpack(_exactly(connection, LENGTH.size))
    if length > LARGEST:
        raise WireError(f"a message claims to be {length} bytes long")
    try:
        message = msgpack.unpackb(_exactly(connection, length), strict_map_key=False)
    except (ValueError, msgpack.UnpackException) as error:
        raise WireError(f"a message is damaged ({error})") from None
    if not isinstance(message, dict):
        raise WireError(f"a message is a {type(message).__name__}, not a map")
    return message


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        try:
            part = connection.recv(size - len(parts))
        except OSError as error:
            raise WireError(f"the connection is gone ({error})") from None
        if not part:
            raise WireError("the connection was closed")
        parts += part
    return bytes(parts)


def vocabulary_to_data(vocabulary: Vocabulary) -> Message:
    """Return `vocabulary` as maps and lists."""
    return asdict(vocabulary)


def vocabulary_from_data(data: Message) -> Vocabulary:
    """Return what `vocabulary_to_data` described."""
    return Vocabulary(
        framework=data["framework"],
        architectures=tuple(
            ArchitectureSpec(_target(each["target"]), _schema(each["schema"]))
            for each in data["architectures"]
        ),
        constructs=tuple(map(_target, data["constructs"])),
        ambient=tuple(map(_target, data["ambient"])),
        backends=tuple(data["backends"]),
        modes=tuple(data["modes"]),
        disk=tuple(data["disk"]),
        limits=data["limits"],
    )


def _target(data: Message) -> TargetSpec:
    actions = tuple(ActionSpec(**action) for action in data["actions"])
    return TargetSpec(**{**data, "actions": actions, "inputs": _inputs(data["inputs"])})


def _schema(data: Message) -> Schema:
    dimensions = tuple(Dimension(d["name"], tuple(d["sizes"])) for d in data["dimensions"])
    return Schema(dimensions, _inputs(data["inputs"]))


def _inputs(data: list[Message]) -> tuple[InputSpec, ...]:
    return tuple(InputSpec(**{**each, "shape": tuple(each["shape"])}) for each in data)
