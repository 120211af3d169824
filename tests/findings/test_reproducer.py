"""Reproducers: round trips, and nothing but one clear line for anything else."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import msgpack
import pytest

from rondo.errors import ArtifactError, ReproducerError
from rondo.findings import replay, reproducer
from rondo.findings.reproducer import LARGEST, Reproducer, load, pack, save, unpack
from rondo.oracle.run import execute
from rondo.sequences.codec import decode
from rondo.sequences.step import describe
from tests.campaign.conftest import HARMLESS, STALE
from tests.toy_framework import ToyFramework

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


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b"not msgpack at all",
        msgpack.packb([1, 2]),
        msgpack.packb({"format": "other"}),
        msgpack.packb({"format": "rondo-reproducer", "version": 99}),
        msgpack.packb({"format": "rondo-reproducer", "version": 1}),
        b"\x81" * 5000,
        b"\xdd\xff\xff\xff\xff",
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
        ("surplus", 1),
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
