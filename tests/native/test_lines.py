"""The line store alone: trees, figures, hashes, and lines that travel between processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo._native.behaviour import hash64
from rondo._native.lines import LineStore
from rondo._native.tracer import LineTracer
from tests.native.programs import load

MakeTracer = Callable[..., LineTracer]
TEXT = "def main():\n    x = 1\n    return x\n"

FILES = st.dictionaries(
    st.sampled_from(["/t/a.py", "/t/b/c.py", "/elsewhere.py", "/t/é\udc80.py"]),
    st.sets(st.integers(1, 5000), min_size=1).map(sorted),
)


def exported(lines: dict[str, list[int]]) -> bytes:
    """What a store with these lines exports, built through the format itself."""
    body = b"RNDLINES" + (1).to_bytes(8, "little") + len(lines).to_bytes(8, "little")
    for name, numbers in lines.items():
        raw = os.fsencode(name)
        body += len(raw).to_bytes(4, "little") + len(numbers).to_bytes(4, "little") + raw
        body += b"".join(number.to_bytes(4, "little") for number in numbers)
    return body + hash64(body).to_bytes(8, "little")


@given(FILES, FILES)
def test_import_is_a_union_and_export_its_inverse(
    one: dict[str, list[int]], two: dict[str, list[int]]
) -> None:
    store = LineStore(["/t"])
    assert store.import_lines(exported(one)) == sum(map(len, one.values()))
    assert store.lines() == dict(sorted(one.items()))
    added = sum(len(set(n) - set(one.get(name, ()))) for name, n in two.items())
    assert store.import_lines(exported(two)) == added
    assert store.import_lines(exported(two)) == 0
    other = LineStore([])
    other.import_lines(store.export_new())
    assert other.lines() == store.lines()
    assert store.export_new() == exported({})
    assert sum(store.tree_counts().values()) == store.line_count


@given(FILES, st.data())
def test_damaged_exports_add_nothing(lines: dict[str, list[int]], data: st.DataObject) -> None:
    raw = bytearray(exported(lines))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    store = LineStore(["/t"])
    with pytest.raises(ValueError, match="exported lines"):
        store.import_lines(bytes(raw))
    assert store.line_count == 0


def _sealed(body: bytes) -> bytes:
    return body + hash64(body).to_bytes(8, "little")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "cut short: 0 bytes"),
        (_sealed(b"RNDBLABLA" + bytes(15)), "do not start with RNDLINES"),
        (_sealed(b"RNDLINES\2" + bytes(15)), "version 2, this Rondo reads 1"),
        (_sealed(b"RNDLINES\1" + bytes(7) + b"\1" + bytes(7)), "end within a file"),
        (_sealed(b"RNDLINES\1" + bytes(15) + b"x"), "1 bytes too many"),
    ],
)
def test_each_kind_of_damage_is_named(raw: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        LineStore([]).import_lines(raw)


def test_files_belong_to_the_longest_tree(tmp_path: Path) -> None:
    trees = [tmp_path, tmp_path / "inner", tmp_path / "inner" / "one.py"]
    store = LineStore(trees)
    store.import_lines(
        exported(
            {
                str(tmp_path / "a.py"): [1],
                str(tmp_path / "inner.py"): [1, 2],
                str(tmp_path / "inner" / "b.py"): [1, 2, 3],
                str(tmp_path / "inner" / "one.py"): [1, 2, 3, 4],
                "/elsewhere.py": [9],
            }
        )
    )
    assert [store.tree_counts()[str(tree)] for tree in trees] == [3, 3, 4]
    assert store.tree_counts()[""] == 1


def test_what_is_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    for tree in ("real", "link", tmp_path / "link"):
        store = LineStore([tree])
        assert store.covers(str(tmp_path / "real" / "a.py"))
        assert store.covers(str(tmp_path / "link" / "a.py"))
        assert store.covers("link/a.py")
        assert store.covers("./real/sub/../a.py")
        assert not store.covers("a.py")
        assert not store.covers(str(tmp_path / "realm" / "a.py"))
        assert not store.covers("<string>")
        assert not store.covers("<frozen real>")
        assert not store.covers("")
    assert store.counts()["files"] == 0


def test_unbounded_names_of_generated_code_are_forgotten() -> None:
    store = LineStore(["/t"])
    for i in range(50_000):
        assert not store.covers(f"<eval_with_key>.{i}")
    assert store.covers("/t/a.py")


def test_line_hashes_do_not_depend_on_where_the_tree_lies(
    tmp_path: Path, tracer_for: MakeTracer
) -> None:
    found = []
    for place in ("here", "there"):
        tree = tmp_path / place / "package"
        tree.mkdir(parents=True)
        main = load(tree / "m.py", TEXT)
        tracer = tracer_for(tree)
        tracer.begin_run()
        main()
        tracer.stop()
        found.append(list(tracer.run_hashes()))
    assert (
        found[0]
        == found[1]
        == [hash64(line.to_bytes(4, "little"), hash64("package/m.py")) for line in (2, 3)]
    )


def test_forged_line_numbers_are_dropped_and_counted() -> None:
    store = LineStore(["/t"])
    assert store.import_lines(exported({"/t/a.py": [1, 2**32 - 1]})) == 1
    assert store.counts() == {"files": 1, "lines": 1, "run": 1, "dropped": 1}
