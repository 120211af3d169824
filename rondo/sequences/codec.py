"""Bytes <-> sequence: total decoding, canonical encoding.

    file    = "RQ" version subject options step*
    subject = length architecture:u16 seed:u8 construct:u16*
    options = length backend mode dynamic fullgraph cache
    step    = kind length payload        kind even: call, odd: change
    call    = one byte per operand of CALL_CHOICES, then one per dimension
    change  = target:u16 action:u8 value:u8

Lengths are one byte, integers little-endian, targets the 16-bit ids of their names. Three rules
make every byte string mean something, so that a fuzzer's own byte mutations stay harmless:

1. a payload that is too short is padded with zeros, which are the usual choices, and one that is
   too long is cut: records are self-contained, and deleting or splicing them is meaningful;
2. indexes wrap around their tables and ids that do not exist wrap around those that do;
3. input that ends early ends the sequence.

`encode` writes the shortest form (trailing zeros dropped), so `encode(decode(b))` is a fixed point.
"""

from __future__ import annotations

from rondo.sequences.step import (
    CALL_CHOICES,
    OPTION_CHOICES,
    Call,
    Change,
    Options,
    Sequence,
    Step,
    SubjectSpec,
    normalise_call,
    normalise_change,
    normalise_options,
    targets_of,
)
from rondo.sequences.vocabulary import ArchitectureSpec, TargetSpec, Vocabulary, name_id

MAGIC = b"RQ"
VERSION = 1
HEADER = MAGIC + bytes([VERSION])
CALL_OPERANDS = len(CALL_CHOICES)


class CodecError(ValueError):
    """The bytes are not a canonical sequence of this version; the message says where and why."""


class _Reader:
    """Reads integers and counted records from bytes; past the end it yields zeros and nothing."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def more(self) -> bool:
        return self.position < len(self.data)

    def byte(self) -> int:
        value = self.data[self.position] if self.more() else 0
        self.position += 1
        return value

    def record(self) -> bytes:
        length = self.byte()
        payload = self.data[self.position : self.position + length]
        self.position += length
        return payload


def _u16(payload: bytes, offset: int) -> int:
    return int.from_bytes(payload[offset : offset + 2].ljust(2, b"\0"), "little")


def _record(payload: bytes) -> bytes:
    payload = payload.rstrip(b"\0")
    return bytes([len(payload)]) + payload


def decode(data: bytes, vocabulary: Vocabulary) -> Sequence:
    """Return the sequence that `data` means. Total: never raises, the same in every process."""
    reader = _Reader(data[len(HEADER) :])
    subject = _decode_subject(reader.record(), vocabulary)
    options = _decode_options(reader.record(), vocabulary)
    architecture = vocabulary.architectures_by_name[subject.architecture]
    targets = targets_of(subject, vocabulary)
    steps: list[Step] = []
    while reader.more() and len(steps) < vocabulary.limits["steps"]:
        kind = reader.byte()
        payload = reader.record()
        if kind % 2:
            steps.append(_decode_change(payload, targets, vocabulary))
        else:
            steps.append(_decode_call(payload, architecture))
    return Sequence(subject, options, tuple(steps))


def _decode_subject(payload: bytes, vocabulary: Vocabulary) -> SubjectSpec:
    identity = _u16(payload, 0)
    name = vocabulary.names_by_id.get(identity, "")
    if name not in vocabulary.architectures_by_name:
        name = vocabulary.architectures[identity % len(vocabulary.architectures)].name
    known = {construct.id: construct.name for construct in vocabulary.constructs}
    limit = vocabulary.limits["constructs"]
    constructs: list[str] = []
    for offset in range(3, min(len(payload), 3 + 2 * limit), 2):
        identity = _u16(payload, offset)
        if known:
            fallback = vocabulary.constructs[identity % len(known)].name
            constructs.append(known.get(identity, fallback))
    seed = payload[2] if len(payload) > 2 else 0
    return SubjectSpec(name, tuple(dict.fromkeys(constructs)), seed)


def _decode_options(payload: bytes, vocabulary: Vocabulary) -> Options:
    values = payload.ljust(2 + len(OPTION_CHOICES), b"\0")
    named = dict(zip(OPTION_CHOICES, values[2:], strict=False))
    return normalise_options(Options(values[0], values[1], **named), vocabulary)


def _decode_call(payload: bytes, architecture: ArchitectureSpec) -> Call:
    values = payload.ljust(CALL_OPERANDS, b"\0")
    named = dict(zip(CALL_CHOICES, values, strict=False))
    return normalise_call(Call(**named, sizes=tuple(values[CALL_OPERANDS:])), architecture)


def _decode_change(
    payload: bytes, targets: tuple[TargetSpec, ...], vocabulary: Vocabulary
) -> Change:
    identity = _u16(payload, 0)
    values = payload.ljust(4, b"\0")
    change = Change(vocabulary.names_by_id.get(identity, ""), values[2], values[3])
    return normalise_change(change, targets, identity)


def encode(sequence: Sequence) -> bytes:
    """Return the canonical bytes of a normalised sequence."""
    subject = sequence.subject
    head = name_id(subject.architecture).to_bytes(2, "little") + bytes([subject.seed])
    for name in subject.constructs:
        head += name_id(name).to_bytes(2, "little")
    options = sequence.options
    chosen = [options.backend, options.mode, *(getattr(options, name) for name in OPTION_CHOICES)]
    parts = [HEADER, bytes([len(head)]) + head, _record(bytes(chosen))]
    parts += [_encode_step(step) for step in sequence.steps]
    return b"".join(parts)


def _encode_step(step: Step) -> bytes:
    if isinstance(step, Call):
        operands = [getattr(step, name) for name in CALL_CHOICES]
        return b"\0" + _record(bytes([*operands, *step.sizes]))
    target = name_id(step.target).to_bytes(2, "little")
    return b"\1" + _record(target + bytes([step.action, step.value]))


def decode_strict(data: bytes, vocabulary: Vocabulary) -> Sequence:
    """Return the sequence that `data` canonically encodes.

    Raises CodecError when `data` was not written by `encode` with a vocabulary that has the same
    names: not a sequence at all, another version, damaged, or made with constructs unknown here.
    """
    if data[: len(MAGIC)] != MAGIC:
        raise CodecError("not a Rondo sequence (it does not start with 'RQ')")
    if len(data) < len(HEADER) or data[len(MAGIC)] != VERSION:
        found = data[len(MAGIC)] if len(data) >= len(HEADER) else "none"
        raise CodecError(f"format version {found}, this Rondo reads version {VERSION}")
    sequence = decode(data, vocabulary)
    canonical = encode(sequence)
    if canonical != data:
        offset = next(
            (i for i, (a, b) in enumerate(zip(canonical, data, strict=False)) if a != b),
            min(len(canonical), len(data)),
        )
        raise CodecError(
            f"damaged, or made with subjects unknown here: it stops making sense at byte {offset}"
            f" of {len(data)}"
        )
    return sequence
