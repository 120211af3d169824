"""The behaviour hash against the `xxhash` package, the map against a `collections.Counter`."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from array import array
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo._native.behaviour import BehaviourMap, hash64

U64 = st.integers(0, 2**64 - 1)
# Few distinct values, so that counts pass 1, mixed with any value at all.
HASHES = st.lists(st.integers(0, 20) | U64)
REFUSED = r"^(not a )?behaviour map[^\n]*$"
MAPS = st.builds(BehaviourMap, HASHES)

# Published test vectors of XXH64; they hold with or without the `xxhash` package.
VECTORS = [
    (b"", 0, 0xEF46DB3751D8E999),
    (b"a", 0, 0xD24EC4F1A98C6E5B),
    (b"abc", 0, 0x44BC2CF5AD770999),
    (b"xxhash", 20141025, 13067679811253438005),
    (b"I want an unsigned 64-bit seed!", 0, 0xD4CB0A70A2B8C7C1),
]


@pytest.mark.parametrize(("data", "seed", "expected"), VECTORS)
def test_hash64_gives_the_published_values(data: bytes, seed: int, expected: int) -> None:
    assert hash64(data, seed) == expected


@given(st.binary(max_size=300), U64)
def test_hash64_equals_the_xxhash_package(data: bytes, seed: int) -> None:
    xxhash = pytest.importorskip("xxhash", reason="the reference implementation is not installed")
    assert hash64(data, seed) == xxhash.xxh64_intdigest(data, seed)
    assert hash64(bytearray(data), seed) == hash64(memoryview(data), seed) == hash64(data, seed)


@given(st.text())
def test_hash64_of_a_string_is_that_of_its_utf8(text: str) -> None:
    assert hash64(text) == hash64(text.encode("utf-8", "surrogatepass"))


def test_hash64_takes_lone_surrogates_and_refuses_other_types() -> None:
    assert hash64("\udc80") == hash64("\udc80".encode("utf-8", "surrogatepass"))
    with pytest.raises(TypeError, match="bytes or str, not int"):
        hash64(7)  # type: ignore[arg-type]


def test_hash64_is_equal_in_a_process_with_another_hash_seed() -> None:
    code = "from rondo._native.behaviour import hash64; print(hash64('graph_break: print'))"
    values = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert values == {str(hash64("graph_break: print"))}


@given(HASHES)
def test_map_counts_as_a_counter_does(hashes: list[int]) -> None:
    found, expected = BehaviourMap(), Counter[int]()
    for h in hashes:
        expected[h] += 1
        assert found.add(h) == expected[h]
    assert found.items() == sorted(expected.items())
    assert list(found) == sorted(expected)
    assert len(found) == len(expected)
    assert found.total == len(hashes)
    assert all(found.count(h) == n and h in found for h, n in expected.items())


@given(HASHES, HASHES)
def test_add_many_returns_how_many_were_new(first: list[int], second: list[int]) -> None:
    one, other = BehaviourMap(first), BehaviourMap(first)
    expected = len(set(second) - set(first))
    assert one.add_many(second) == expected
    assert other.add_many(array("Q", second)) == expected
    assert one == other == BehaviourMap(second + first)


def test_add_many_refuses_what_are_not_hashes_and_adds_nothing() -> None:
    behaviours = BehaviourMap()
    with pytest.raises(OverflowError):
        behaviours.add_many([1, 2, -3])
    with pytest.raises(TypeError, match="64-bit hashes, not bytes"):
        behaviours.add_many(b"12345678")
    with pytest.raises(TypeError, match="unsigned 64-bit items, not format 'd'"):
        behaviours.add_many(array("d", [1.0]))  # type: ignore[arg-type]
    assert len(behaviours) == behaviours.total == 0


def test_map_grows_far_past_its_first_size_and_takes_clustered_keys() -> None:
    behaviours = BehaviourMap(range(100_000))
    assert len(behaviours) == 100_000
    assert behaviours.add_many(range(50_000, 150_000)) == 50_000
    assert behaviours.count(0) == 1
    assert behaviours.count(60_000) == 2
    assert behaviours.count(2**64 - 1) == 0


@given(MAPS, MAPS)
def test_merge_commutes_and_adds(left: BehaviourMap, right: BehaviourMap) -> None:
    left.executions, right.executions = 3, 4
    one, other = left.copy(), right.copy()
    assert one.merge(right) == len(set(right) - set(left))
    other.merge(left)
    assert one == other
    assert one.executions == 7
    assert one.total == left.total + right.total


def test_merge_with_itself_doubles_and_with_a_stranger_is_refused() -> None:
    behaviours = BehaviourMap([1, 1, 2])
    assert behaviours.merge(behaviours) == 0
    assert behaviours.items() == [(1, 4), (2, 2)]
    with pytest.raises(TypeError, match="not dict"):
        behaviours.merge({1: 2})  # type: ignore[arg-type]


def test_rarity_is_largest_for_the_unseen_and_zero_for_the_ubiquitous() -> None:
    behaviours = BehaviourMap()
    for _ in range(9):
        behaviours.note_execution()
        behaviours.add(1)
    behaviours.add(2)
    assert behaviours.executions == 9
    assert behaviours.rarity(1) == 0.0
    assert behaviours.rarity(2) == pytest.approx(math.log(10 / 2))
    assert behaviours.rarity(3) == pytest.approx(math.log(10))


@given(MAPS, U64)
def test_bytes_round_trip_and_are_canonical(behaviours: BehaviourMap, executions: int) -> None:
    behaviours.executions = executions
    raw = behaviours.to_bytes()
    assert BehaviourMap.from_bytes(raw) == behaviours
    assert BehaviourMap.from_bytes(raw).to_bytes() == raw
    assert pickle.loads(pickle.dumps(behaviours)) == behaviours


@given(MAPS, st.data())
def test_damaged_bytes_raise_value_error(behaviours: BehaviourMap, data: st.DataObject) -> None:
    raw = bytearray(behaviours.to_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match=REFUSED):
        BehaviourMap.from_bytes(bytes(raw))
    with pytest.raises(ValueError, match=REFUSED):
        BehaviourMap.from_bytes(behaviours.to_bytes()[: -data.draw(st.integers(1, 40))])


@given(st.binary(max_size=100))
def test_arbitrary_bytes_raise_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        BehaviourMap.from_bytes(raw)


def _sealed(body: bytes) -> bytes:
    return body + hash64(body).to_bytes(8, "little")


def _words(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"RONDO", "cut short: 5 bytes"),
        (_sealed(b"RONDOBAD" + _words(1, 0, 0)), "does not start with RONDOMAP"),
        (_sealed(b"RONDOMAP" + _words(9, 0, 0)), "has version 9, this Rondo reads 1"),
        (_sealed(b"RONDOMAP" + _words(1, 0, 2, 5, 1)), "announces 2 entries"),
        (_sealed(b"RONDOMAP" + _words(1, 0, 2**60, 5, 1)), "announces 1152921504606846976"),
        (_sealed(b"RONDOMAP" + _words(1, 0, 0)) + b"x" * 16, "announces 0 entries"),
        (b"RONDOMAP" + _words(1, 0, 0, 0), "checksum"),
        (_sealed(b"RONDOMAP" + _words(1, 0, 2, 5, 1, 5, 1)), "not sorted at entry 1"),
        (_sealed(b"RONDOMAP" + _words(1, 0, 1, 5, 0)), "counts entry 0 zero times"),
    ],
)
def test_each_kind_of_damage_is_named(raw: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as error:
        BehaviourMap.from_bytes(raw)
    assert "\n" not in str(error.value)


def test_save_replaces_atomically_and_load_names_the_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "behaviours"
    behaviours = BehaviourMap([3, 1, 3])
    behaviours.save(path)
    behaviours.add(9)
    behaviours.save(path)
    assert BehaviourMap.load(path) == behaviours
    assert os.listdir(tmp_path) == ["behaviours"]
    path.write_bytes(b"RONDOMAP")
    with pytest.raises(ValueError, match=r"behaviours: behaviour map is cut short"):
        BehaviourMap.load(path)
    with pytest.raises(FileNotFoundError):
        behaviours.save(tmp_path / "no such folder" / "behaviours")


def test_counts_saturate_instead_of_wrapping() -> None:
    body = b"RONDOMAP" + _words(1, 2**64 - 1, 1, 5, 2**64 - 1)
    behaviours = BehaviourMap.from_bytes(_sealed(body))
    assert behaviours.add(5) == 2**64 - 1
    behaviours.note_execution()
    assert behaviours.executions == 2**64 - 1
    assert behaviours.rarity(5) == 0.0


def test_repr_and_equality() -> None:
    assert repr(BehaviourMap([1, 1])) == "<BehaviourMap 1 behaviours seen 2 times in 0 executions>"
    assert BehaviourMap() != object()
    assert 2**64 not in BehaviourMap([1])
    assert "one" not in BehaviourMap([1])
    with pytest.raises(TypeError):
        hash(BehaviourMap())
