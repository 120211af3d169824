"""The baselines propose as the chains do, but nothing that was observed comes back to them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from rondo.search.corpus import Corpus
from rondo.search.sampler import Feedback, SearchState
from rondo.search.samplers import SAMPLERS, create_sampler
from rondo.sequences.codec import encode
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.step import Call, Change, Sequence, normalise
from tests import toys

TOY = toys.toy_vocabulary()
SEEDS = [SequenceDistribution(TOY).sample_sequence(Random(n), 8) for n in range(4)]


@pytest.fixture
def seeded(tmp_path: Path) -> SearchState:
    for number, sequence in enumerate(SEEDS):
        (tmp_path / f"seed{number}.seq").write_bytes(encode(sequence))
    return SearchState.begin(TOY, Corpus(tmp_path, TOY), max_length=12)


def proposals(name: str, state: SearchState, *, labels: bool = False) -> Iterator[Sequence]:
    sampler = create_sampler(name, state, seed=3, backends=(0, 1, 2))
    number = 0
    while True:
        sequence = sampler.propose()
        yield sequence
        number += 1
        sampler.observe(sequence, {number: f"new {number}"} if labels else {})


def first(count: int, found: Iterator[Sequence]) -> list[Sequence]:
    return [next(found) for _ in range(count)]


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_proposes_valid_sequences_and_is_deterministic(
    name: str, seeded: SearchState, tmp_path: Path
) -> None:
    again = SearchState.begin(TOY, Corpus(tmp_path, TOY), max_length=12)
    found = first(200, proposals(name, seeded))
    assert found == first(200, proposals(name, again))
    for sequence in found:
        assert normalise(sequence, TOY) == sequence
        assert math.isfinite(seeded.distribution.log_prior(sequence))
        assert len(sequence.steps) <= 12
    assert {sequence.options.backend for sequence in found} == {0, 1, 2}
    cheap = sum(sequence.options.backend == 0 for sequence in found)
    assert cheap > 120


@pytest.mark.parametrize("name", ["random", "stateless"])
def test_baselines_learn_nothing_from_what_they_see(
    name: str, seeded: SearchState, tmp_path: Path
) -> None:
    again = SearchState.begin(TOY, Corpus(tmp_path, TOY), max_length=12)
    blind = first(200, proposals(name, seeded))
    assert blind == first(200, proposals(name, again, labels=True))
    assert len(again.corpus) > 100


def test_baselines_accept_and_record_everything(seeded: SearchState) -> None:
    sampler = create_sampler("random", seeded)
    sequence = sampler.propose()
    assert sampler.observe(sequence, {1: "one"}) == Feedback(True, frozenset({1}))
    assert sequence in seeded.corpus
    assert sampler.observe(sampler.propose(), {1: "one"}, ["bug"]) == (
        Feedback(True, frozenset(), True)
    )
    assert seeded.alarms == {"bug": 1}


def test_random_uses_seeds_for_half_of_its_proposals(seeded: SearchState) -> None:
    changes = {step for s in SEEDS for step in s.steps if isinstance(step, Change)}
    calls = {step for s in SEEDS for step in s.steps if isinstance(step, Call)}
    found = first(300, proposals("random", seeded))
    related = [s for s in found if len((changes | calls) & set(s.steps)) >= 2]
    assert 80 < len(related) < 220


def test_random_without_seeds_draws_from_the_prior(state: SearchState) -> None:
    found = first(600, proposals("random", state))
    assert sum(len(s.steps) for s in found) / 600 == pytest.approx(10.6, abs=0.8)


def test_stateless_has_one_call_and_nothing_else(seeded: SearchState) -> None:
    found = first(200, proposals("stateless", seeded))
    assert all(len(s.steps) == 1 and isinstance(s.steps[0], Call) for s in found)
    kept = {call for s in SEEDS for _, call in s.calls()}
    assert {s.steps[0] for s in found} & kept, "calls of the seeds are among them"


def test_an_unknown_sampler_is_a_key_error(state: SearchState) -> None:
    with pytest.raises(KeyError):
        create_sampler("lucky", state)
