"""The ledger counts executions and behaviours, and survives the disk."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.search.behaviour import LABELS_FILE, MAP_FILE, BehaviourLedger


def test_record_tells_what_is_new() -> None:
    ledger = BehaviourLedger()
    assert ledger.record({1: "compile", 2: "hit"}) == {1, 2}
    assert ledger.record({2: "hit", 3: "recompile: dtype"}) == {3}
    assert ledger.record({}) == frozenset()
    assert len(ledger) == 3
    assert ledger.executions == 3
    assert ledger.labels == {1: "compile", 2: "hit", 3: "recompile: dtype"}


def test_energy_is_the_summed_rarity() -> None:
    ledger = BehaviourLedger()
    for n in range(9):
        ledger.record({1: "always", **({2: "once"} if n == 4 else {})})
    assert ledger.energy(()) == 0.0
    assert ledger.energy((1,)) == 0.0
    assert ledger.energy((1, 2)) == pytest.approx(math.log(10 / 2))
    assert ledger.energy((3,)) == pytest.approx(math.log(10))


@given(st.lists(st.integers(0, 30), max_size=60), st.permutations(range(31)))
def test_energy_does_not_depend_on_the_order(shown: list[int], order: list[int]) -> None:
    ledger = BehaviourLedger()
    for behaviour in shown:
        ledger.record({behaviour: ""})
    assert ledger.energy(order) == ledger.energy(range(31))


def test_a_saved_ledger_is_loaded_as_it_was(tmp_path: Path) -> None:
    ledger = BehaviourLedger()
    ledger.record({2**64 - 1: "guard \u00fc\n\u2028 of two lines", 5: ""})
    ledger.record({5: ""})
    ledger.save(tmp_path)
    loaded = BehaviourLedger.load(tmp_path)
    assert loaded.counts == ledger.counts
    assert loaded.labels == ledger.labels
    assert sorted(path.name for path in tmp_path.iterdir()) == [LABELS_FILE, MAP_FILE]


@pytest.mark.parametrize("line", ["{", "[]", '{"hash": "zz", "label": ""}', '{"hash": "1"}'])
def test_a_damaged_label_is_named_by_its_line(tmp_path: Path, line: str) -> None:
    ledger = BehaviourLedger()
    ledger.record({5: "five"})
    ledger.save(tmp_path)
    with (tmp_path / LABELS_FILE).open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(ValueError, match=r"behaviours\.jsonl:2: not a labelled behaviour"):
        BehaviourLedger.load(tmp_path)
