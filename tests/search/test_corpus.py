"""A corpus is what its folder holds: checked when read, whole when written, lost never."""

from __future__ import annotations

import errno
import os
from array import array
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo._native.behaviour import hash64
from rondo.errors import CorpusError
from rondo.frameworks import registry
from rondo.search.behaviour import BehaviourLedger
from rondo.search.corpus import Corpus
from rondo.sequences.codec import HEADER, encode
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.step import Sequence
from tests import toys

TOY = toys.toy_vocabulary()
ONE, TWO, THREE = (SequenceDistribution(TOY).sample_sequence(Random(n), 4) for n in (1, 2, 3))


def names(corpus: Corpus) -> list[str]:
    return [entry.name for entry in corpus]


def test_every_file_of_the_folder_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "zero.seq").write_bytes(encode(ONE))
    (tmp_path / "deep" / "er" / "two").write_bytes(encode(TWO))
    (tmp_path / "__pycache__").mkdir()
    for name in ("README.md", "seeds.py", "__pycache__/seeds.cpython-311.pyc"):
        (tmp_path / name).write_text("not a sequence")
    (tmp_path / ".hidden.seq").write_text("not a sequence")
    (tmp_path / ".git" / "index").write_text("not a sequence")
    corpus = Corpus(tmp_path, TOY)
    assert names(corpus) == ["deep/er/two", "zero"]
    assert [entry.sequence for entry in corpus.seeds] == [TWO, ONE]
    assert ONE in corpus
    assert THREE not in corpus
    corpus.check_invariants()


def test_folders_of_other_frameworks_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.ADAPTERS, "toy", ("", "", ""))
    for folder in ("toy", "torch"):
        (tmp_path / folder).mkdir()
    (tmp_path / "toy" / "seed.seq").write_bytes(encode(ONE))
    (tmp_path / "torch" / "seed.seq").write_bytes(b"RQ\x01 of another vocabulary")
    assert names(Corpus(tmp_path, TOY)) == ["toy/seed"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"garbage", "does not start with 'RQ'"),
        (b"RQ\x63", "format version 99"),
        (HEADER + b"\xff" * 9, "stops making sense at byte"),
        (encode(ONE)[:-1] + b"\xff", "stops making sense at byte"),
        (b"", "does not start with 'RQ'"),
    ],
)
def test_a_corrupt_file_is_named_with_the_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "fine.seq").write_bytes(encode(TWO))
    (tmp_path / "broken.seq").write_bytes(data)
    with pytest.raises(CorpusError, match=rf"^corpus file \S+broken\.seq: [^\n]*{reason}[^\n]*$"):
        Corpus(tmp_path, TOY)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"^corpus folder \S+nowhere does not exist$"):
        Corpus(tmp_path / "nowhere", TOY)


def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.seq").write_bytes(encode(ONE))

    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(CorpusError, match=r"cannot read corpus file \S+secret.seq: Permission"):
        Corpus(tmp_path, TOY)


def test_equal_files_are_one_entry(tmp_path: Path) -> None:
    for name in ("b.seq", "a.seq"):
        (tmp_path / name).write_bytes(encode(ONE))
    assert names(Corpus(tmp_path, TOY)) == ["a"]


def test_an_added_entry_is_a_file_named_for_its_content(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, TOY)
    assert corpus.add(ONE)
    assert not corpus.add(ONE)
    corpus.check_invariants()
    (path,) = tmp_path.iterdir()
    assert path.name == f"{hash64(encode(ONE)):016x}.seq"
    assert path.read_bytes() == encode(ONE)
    again = Corpus(tmp_path, TOY)
    assert [entry.sequence for entry in again] == [ONE]
    assert not again.add(ONE)
    assert corpus.seeds == []
    assert len(again.seeds) == 1


@given(st.lists(toys.sequences(TOY), max_size=8))
@settings(max_examples=30, deadline=None)
def test_what_was_added_is_what_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, added: list[Sequence]
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    corpus = Corpus(folder, TOY)
    news = [corpus.add(sequence) for sequence in added]
    assert sum(news) == len(corpus) == len(set(added))
    again = Corpus(folder, TOY)
    assert [entry.data for entry in again] == [entry.data for entry in corpus]
    assert names(again) == sorted(names(again)) == names(corpus)
    again.check_invariants()
    corpus.check_invariants()


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(tmp_path, TOY)
    corpus.add(ONE)

    def refuse(source: str, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(CorpusError, match=r"^cannot write corpus file [^\n]+No space left"):
            corpus.add(TWO)
        with pytest.raises(CorpusError, match="No space left"):
            corpus.add(THREE)
    assert len(list(tmp_path.iterdir())) == 1, "no temporary file stays behind"
    assert len(corpus) == 3
    corpus.check_invariants()
    corpus.flush()
    assert {entry.sequence for entry in Corpus(tmp_path, TOY)} == {ONE, TWO, THREE}
    corpus.check_invariants()


def test_a_folder_that_vanished_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    corpus = Corpus(folder, TOY)
    folder.rmdir()
    with pytest.raises(CorpusError, match=r"cannot write corpus file \S+: No such file"):
        corpus.add(ONE)
    assert ONE in corpus


def test_entries_first_to_show_something_rare_are_drawn_more_often() -> None:
    corpus, ledger = Corpus(None, TOY), BehaviourLedger()
    for n, sequence in enumerate((ONE, TWO)):
        corpus.add(sequence)
        corpus.note(sequence, first={n}, shown={n})
    for n in range(99):
        ledger.record({0: "common", **({1: "rare"} if n == 0 else {})})
    rng = Random(0)
    drawn = Counter(entry.sequence for entry in corpus.select(rng, ledger, count=3000))
    expected = 1 + ledger.energy((1,))
    assert drawn[TWO] / drawn[ONE] == pytest.approx(expected, rel=0.2)


def test_notes_are_kept_for_entries_only() -> None:
    corpus = Corpus(None, TOY)
    corpus.add(ONE)
    corpus.note(ONE, first={1}, shown={1, 2})
    corpus.note(ONE, first={2}, shown={1, 2, 3})
    corpus.note(TWO, first={9}, shown={9})
    (entry,) = corpus
    assert {*entry.first} == {1, 2}
    assert entry.shown == array("Q", [1, 2, 3])
    corpus.note(ONE, first=(), shown=None)
    assert entry.shown is None
    corpus.check_invariants()


def test_broken_invariants_are_reported_with_the_data(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, TOY)
    corpus.add(ONE)
    corpus.add(TWO)
    one, two = corpus
    corpus.note(one.sequence, first={1}, shown={1})
    two.first = array("Q", [1])
    with pytest.raises(AssertionError, match="0000000000000001 first shown by"):
        corpus.check_invariants()
    two.first, two.shown = array("Q", [2]), array("Q", [3])
    with pytest.raises(AssertionError, match=r"\[2\]"):
        corpus.check_invariants()
    two.shown = None
    (tmp_path / f"{two.name}.seq").write_bytes(b"other")
    with pytest.raises(AssertionError, match="does not hold"):
        corpus.check_invariants()
