"""Reproducers: round trips, and nothing but one clear line for anything else."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from pathlib import Path

import msgpack
import pytest

from rondo.errors import ArtifactError, ReproducerError
from rondo.findings import replay, reproducer
from rondo.findings.reproducer import (
    LARGEST,
    VERSION,
    Reproducer,
    load,
    pack,
    save,
    unpack,
)
from rondo.oracle.run import execute
from rondo.sequences.codec import decode
from rondo.sequences.step import describe
from tests.campaign.conftest import HARMLESS, STALE
from tests.toy_framework import ToyFramework

GOLDEN = Path(__file__).parent / "golden"
TOY = ToyFramework()
VOCABULARY = TOY.vocabulary()


@pytest.fixture
def finding() -> Reproducer:
    result = execute(STALE, TOY)
    alarm = result.alarms[0]
    return Reproducer(
        framework="toy",
        data=STALE,
        decoded=describe(decode(STALE, VOCABULARY), VOCABULARY),
        identity=alarm.identity,
        step=alarm.step,
        differences=alarm.differences,
        steps=result.steps,
        environment={"toy": "1"},
        original=STALE,
        preloads=("setup.py",),
    )


def test_round_trip(finding: Reproducer, tmp_path: Path) -> None:
    assert unpack(pack(finding)) == finding
    path = tmp_path / "deep" / "reproducer.rondo"
    save(finding, path)
    assert load(path) == finding
    assert [entry.name for entry in path.parent.iterdir()] == ["reproducer.rondo"]
    (tmp_path / "plain").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b"not msgpack at all",
        msgpack.packb([1, 2]),
        msgpack.packb({"format": "other"}),
        msgpack.packb({"format": "rondo-reproducer", "version": 99}),
        msgpack.packb({"format": "rondo-reproducer", "version": "2"}),
        msgpack.packb({"format": "rondo-reproducer", "version": True}),
        msgpack.packb({"format": "rondo-reproducer", "version": 0}),
        msgpack.packb({b"format": "rondo-reproducer", "version": 1}),
        msgpack.packb({"format": ["rondo-reproducer"], "version": 1}),
        msgpack.packb({"format": "rondo-reproducer", "version": 1}),
        b"\x81" * 5000,
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x01",
        b"x" * (LARGEST + 1),
    ],
)
def test_anything_else_is_refused_in_one_line(content: bytes) -> None:
    with pytest.raises(ReproducerError) as caught:
        unpack(content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", "text"),
        ("step", "three"),
        ("identity", {"verdict": 1}),
        ("identity", {}),
        ("steps", [{"text": b""}]),
        ("differences", [3]),
        ("environment", {"a": 1}),
        ("decoded", [[[[[[[[[[[1]]]]]]]]]]]),
        ("decoded", {}),
        ("surplus", 1),
        ("step", -1),
        ("step", 3),
        ("step", 1 << 62),
        ("step", 1.0),
        ("minimal", "yes"),
        ("preloads", [1]),
        ("preloads", None),
        ("death", msgpack.Timestamp(1)),
    ],
)
def test_fields_of_another_type_are_refused(finding: Reproducer, name: str, value: object) -> None:
    fields = msgpack.unpackb(pack(finding))
    fields[name] = value
    with pytest.raises(ReproducerError):
        unpack(msgpack.packb(fields))


def test_mutated_files_never_do_worse_than_an_error(finding: Reproducer) -> None:
    rng = random.Random(0)
    good = pack(finding)
    refused = 0
    for _ in range(3000):
        content = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        try:
            unpack(bytes(content[: rng.randrange(len(content))] if rng.random() < 0.3 else content))
        except ReproducerError:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize("name", ["a\nb", "a" * 5000])
def test_what_a_file_holds_cannot_stretch_the_line(finding: Reproducer, name: str) -> None:
    """An unknown field is quoted. Found by fuzz_targets/fuzz_reproducer_loader.py."""
    fields = msgpack.unpackb(pack(finding))
    for place in (fields, fields["identity"], fields["differences"][0]):
        place[name] = "x"
        with pytest.raises(ReproducerError) as caught:
            unpack(msgpack.packb(fields))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 200
        del place[name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("constructs", 3),
        ("constructs", [3]),
        ("steps", ["call()", 1, 2]),
        ("options", {"backend": 1}),
        ("seed", "0"),
        ("seed", True),
        ("architecture", ["chain"]),
    ],
)
def test_the_decoded_form_is_checked_too(finding: Reproducer, name: str, value: object) -> None:
    """Commands print it without asking anything else."""
    other = replace(finding, decoded={**finding.decoded, name: value})
    with pytest.raises(ReproducerError):
        unpack(pack(other))


def test_texts_cannot_steer_a_terminal(finding: Reproducer) -> None:
    odd = replace(finding, environment={"a\x1b[2J": "\x1b]0;title\x07b\x9bc\nd"})
    assert unpack(pack(odd)).environment == {"a?[2J": "?]0;title?b?c\nd"}


def test_a_file_of_version_1_is_read() -> None:
    """Written by the first version of the format; what came later has its absent value."""
    content = (GOLDEN / "version-1.rondo").read_bytes()
    assert msgpack.unpackb(content)["version"] == 1
    old = unpack(content)
    assert old.decoded["constructs"] == ["builtin_name"]
    assert old.identity.exposing == "builtin_name.shadow_abs"
    assert (old.step, len(old.steps), old.rondo) == (2, 3, "0.1.0")
    assert (old.minimal, old.reason, old.layer) == (False, "", "")
    assert unpack(pack(old)) == old


def test_a_file_of_version_2_is_read() -> None:
    """Written by the second version of the format, before a limit of memory was kept."""
    content = (GOLDEN / "version-2.rondo").read_bytes()
    assert msgpack.unpackb(content)["version"] == 2
    old = unpack(content)
    assert (old.minimal, old.layer, old.memory_mb) == (True, "dynamo-guards", 0)
    assert unpack(pack(old)) == old


@pytest.mark.parametrize("limit", [-1, 1 << 25, True, "4096"])
def test_a_memory_limit_that_no_machine_has_is_damage(finding: Reproducer, limit: object) -> None:
    with pytest.raises(ReproducerError, match="memory"):
        unpack(pack(replace(finding, memory_mb=limit)))  # type: ignore[arg-type]


def test_a_file_of_version_1_has_nothing_of_later_versions(finding: Reproducer) -> None:
    fields = {**msgpack.unpackb(pack(finding)), "version": 1}
    del fields["reason"], fields["memory_mb"]
    assert unpack(msgpack.packb(fields)).reason == ""
    fields["nonsense"] = 1
    with pytest.raises(ReproducerError, match="nonsense"):
        unpack(msgpack.packb(fields))


def test_a_newer_file_says_what_it_needs(finding: Reproducer) -> None:
    fields = {**msgpack.unpackb(pack(finding)), "version": VERSION + 1}
    with pytest.raises(ReproducerError, match="newer Rondo"):
        unpack(msgpack.packb(fields))


@pytest.mark.parametrize("header", [b"\xdc\xff\xff", b"\xdc\x04\x00", b"\xdd\0\0\x04\0"])
def test_what_is_announced_is_not_believed(header: bytes) -> None:
    """Nested list headers: each of three bytes promises a thousand items that never come."""
    tracemalloc.start()
    try:
        with pytest.raises(ReproducerError):
            unpack(header * (LARGEST // len(header)))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_a_missing_file_and_an_unwritable_folder_are_told(
    finding: Reproducer, tmp_path: Path
) -> None:
    with pytest.raises(ReproducerError, match="cannot read"):
        load(tmp_path / "nothing")
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(ArtifactError, match="cannot write"):
        save(finding, blocker / "reproducer.rondo")


def test_a_replay_shows_the_recorded_bug_or_its_absence(
    finding: Reproducer, tmp_path: Path
) -> None:
    path = tmp_path / "reproducer.rondo"
    save(finding, path)
    replayable = replay.read(path)
    replay.check_vocabulary(replayable, VOCABULARY)
    assert replay.shown_alarm(replayable, execute(replayable.data, TOY)) is not None
    assert replay.shown_alarm(replayable, execute(HARMLESS, TOY)) is None


def test_a_plain_sequence_replays_too(tmp_path: Path) -> None:
    path = tmp_path / "a.seq"
    path.write_bytes(STALE)
    replayable = replay.read(path, framework="toy")
    assert (replayable.expected, replayable.framework) == (None, "toy")
    replay.check_vocabulary(replayable, VOCABULARY)
    assert replay.shown_alarm(replayable, execute(STALE, TOY)) is not None


def test_bytes_that_mean_something_else_here_are_refused(finding: Reproducer) -> None:
    other = replace(finding, decoded={**finding.decoded, "steps": ["call(batch=7)"]})
    with pytest.raises(ReproducerError, match="other subjects"):
        replay.check_vocabulary(replay.Replayable(STALE, "toy", other), VOCABULARY)
    fewer = VOCABULARY.restricted(constructs=frozenset({"scale"}))
    with pytest.raises(ReproducerError, match="cannot be read"):
        replay.check_vocabulary(replay.Replayable(STALE, "toy", finding), fewer)


def test_the_schema_names_every_field(finding: Reproducer) -> None:
    documented = reproducer.__doc__ or ""
    for name in msgpack.unpackb(pack(finding)):
        assert f"    {name} " in documented
