"""Any bytes mean a sequence; a sequence means exactly one byte string."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rondo.sequences.codec import HEADER, CodecError, decode, decode_strict, encode
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from rondo.sequences.vocabulary import Vocabulary, name_id
from tests import toys

TOY = toys.toy_vocabulary()
SEQUENCES = toys.sequences(TOY)
# Half of them start like a sequence, so that most bytes land in steps rather than in the header.
BYTES = st.binary(max_size=300) | st.binary(max_size=300).map(lambda tail: HEADER + tail)


@given(BYTES)
def test_any_bytes_decode_to_a_valid_sequence(data: bytes) -> None:
    sequence = decode(data, TOY)
    assert normalise(sequence, TOY) == sequence


@given(BYTES)
def test_encoding_what_was_decoded_is_a_fixed_point(data: bytes) -> None:
    canonical = encode(decode(data, TOY))
    assert encode(decode(canonical, TOY)) == canonical
    assert len(canonical) <= len(HEADER) + 3 + 255 + 7 + 48 * 257


@given(SEQUENCES)
def test_a_sequence_survives_its_bytes(sequence: Sequence) -> None:
    assert decode(encode(sequence), TOY) == sequence
    assert decode_strict(encode(sequence), TOY) == sequence


@given(BYTES)
@example(HEADER)
def test_strict_decoding_accepts_exactly_the_canonical_bytes(data: bytes) -> None:
    sequence = decode(data, TOY)
    if encode(sequence) == data:
        assert decode_strict(data, TOY) == sequence
    else:
        with pytest.raises(CodecError):
            decode_strict(data, TOY)


@given(SEQUENCES, st.data())
def test_strict_decoding_refuses_whatever_would_be_read_otherwise(
    sequence: Sequence, data: st.DataObject
) -> None:
    damaged = bytearray(encode(sequence))
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    if encode(decode(bytes(damaged), TOY)) == damaged:
        assert decode_strict(bytes(damaged), TOY) != sequence
    else:
        with pytest.raises(CodecError, match=r"^[^\n]+$"):
            decode_strict(bytes(damaged), TOY)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not start with 'RQ'"),
        (b"PK\x03\x04", "does not start with 'RQ'"),
        (b"RQ", "format version none"),
        (b"RQ\x07", "format version 7, this Rondo reads version 1"),
        (HEADER, "stops making sense at byte 3 of 3"),
    ],
)
def test_strict_decoding_says_what_is_wrong(data: bytes, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        decode_strict(data, TOY)


@given(SEQUENCES, st.data())
def test_deleting_a_record_deletes_a_step(sequence: Sequence, data: st.DataObject) -> None:
    if not sequence.steps:
        return
    at = data.draw(st.integers(0, len(sequence.steps) - 1))
    start = len(encode(sequence.with_steps(sequence.steps[:at])))
    end = len(encode(sequence.with_steps(sequence.steps[: at + 1])))
    raw = encode(sequence)
    rest = sequence.steps[:at] + sequence.steps[at + 1 :]
    assert decode(raw[:start] + raw[end:], TOY) == sequence.with_steps(rest)


def test_short_records_are_padded_and_long_ones_are_cut() -> None:
    mlp = name_id("mlp").to_bytes(2, "little")
    head = HEADER + bytes([2]) + mlp + b"\0"
    plain = Sequence(SubjectSpec("mlp"), Options(), (Call(sizes=(0,)),))
    assert decode(head + b"\0\0", TOY) == plain
    assert decode(head + b"\0" + bytes([40]) + bytes(40), TOY) == plain
    assert decode(head + b"\0" + bytes([40]), TOY) == plain


def test_unknown_targets_wrap_among_those_that_the_subject_has() -> None:
    mlp = name_id("mlp").to_bytes(2, "little")
    other = name_id("no such target")
    record = bytes([1, 4]) + other.to_bytes(2, "little") + bytes([250, 250])
    (step,) = decode(HEADER + bytes([2]) + mlp + b"\0" + record, TOY).steps
    assert isinstance(step, Change)
    assert step.target == ("mlp", "program", "compiler")[other % 3]


def test_decoding_is_equal_in_a_process_with_another_hash_seed() -> None:
    code = (
        "import hashlib, random\n"
        "from tests.toys import toy_vocabulary\n"
        "from rondo.sequences.codec import HEADER, decode, encode\n"
        "rng, toy = random.Random(5), toy_vocabulary()\n"
        "raw = [HEADER + rng.randbytes(rng.randrange(200)) for _ in range(300)]\n"
        "texts = [repr(decode(data, toy)) + encode(decode(data, toy)).hex() for data in raw]\n"
        "print(hashlib.sha256('\\n'.join(texts).encode()).hexdigest())\n"
    )
    root = Path(__file__).parents[2]
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(digests.pop()) == 64


def test_a_vocabulary_without_constructs_decodes_too() -> None:
    bare = TOY.restricted(constructs=frozenset())
    sequence = decode(HEADER + bytes([7]) + b"anybyte", bare)
    assert sequence.subject.constructs == ()
    assert normalise(sequence, bare) == sequence


def test_names_that_share_an_id_are_refused() -> None:
    seen: dict[int, str] = {}
    for name in (f"construct {n}" for n in range(5000)):
        other = seen.setdefault(name_id(name), name)
        if other != name:
            break
    clash = (toys.target(other, 1), toys.target(name, 1))
    with pytest.raises(ValueError, match="share one 16-bit id"):
        Vocabulary("clash", TOY.architectures, clash, TOY.ambient, ("only",))
