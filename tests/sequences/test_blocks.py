"""Blocks are drawn as often as their density says, and only where they mean what they meant."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.sequences.blocks import BLOCK_LENGTHS, BlockLibrary
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from tests import toys

TOY = toys.toy_vocabulary()


def library_of(*sequences: Sequence) -> BlockLibrary:
    library = BlockLibrary(TOY)
    for sequence in sequences:
        library.add(sequence)
    return library


def test_blocks_are_drawn_with_exactly_their_density() -> None:
    rng, distribution = Random(4), SequenceDistribution(TOY)
    library = library_of(*(distribution.sample_sequence(rng) for _ in range(30)))
    subject = SubjectSpec("mlp", ("factor", "hook", "counter"))
    for length in BLOCK_LENGTHS:
        drawn = toys.tally(lambda rng, length=length: library.sample(rng, length, subject))
        assert len(drawn) > 5, f"too few blocks of {length} steps to learn from"
        for block, probability in drawn.items():
            assert len(block) == length
            density = math.exp(library.log_density(block, subject))
            assert density == pytest.approx(probability, rel=1e-12)


@given(st.lists(toys.sequences(TOY), max_size=5), toys.sequences(TOY), st.integers(0, 99))
def test_blocks_mean_the_same_wherever_they_are_spliced(
    corpus: list[Sequence], host: Sequence, seed: int
) -> None:
    library = library_of(*corpus)
    for length in BLOCK_LENGTHS:
        block = library.sample(Random(seed), length, host.subject)
        if block is not None:
            alone = host.with_steps(block)
            assert normalise(alone, TOY) == alone


def test_a_library_without_a_fitting_block_has_none() -> None:
    steps = (Change("hook", 0, 1), Call(sizes=(0, 3)))
    library = library_of(Sequence(SubjectSpec("lstm", ("hook",)), Options(), steps))
    rng = Random(0)
    assert library.sample(rng, 1, SubjectSpec("mlp", ("hook",))) == steps[:1]
    assert library.sample(rng, 1, SubjectSpec("lstm")) == steps[1:]
    assert library.sample(rng, 2, SubjectSpec("lstm")) is None
    assert library.sample(rng, 2, SubjectSpec("mlp", ("hook",))) is None
    assert library.sample(rng, 2, SubjectSpec("lstm", ("factor", "hook"))) == steps
    assert library.log_density(steps, SubjectSpec("lstm", ("hook",))) == 0.0
    assert library.log_density(steps, SubjectSpec("lstm")) == -math.inf
    assert library.log_density((Call(sizes=(1, 3)),), SubjectSpec("lstm")) == -math.inf


def test_calls_fit_architectures_with_dimensions_of_the_same_shape() -> None:
    call = Call(sizes=(3, 2))
    library = library_of(Sequence(SubjectSpec("cnn"), Options(), (call,)))
    assert library.sample(Random(0), 1, SubjectSpec("cnn", ("factor",))) == (call,)
    assert library.sample(Random(0), 1, SubjectSpec("lstm")) is None


def test_a_library_forgets_what_is_older_than_its_latest_sequences() -> None:
    rng, distribution = Random(5), SequenceDistribution(TOY)
    sequences = [distribution.sample_sequence(rng) for _ in range(60)]
    long_lived, young = BlockLibrary(TOY, latest=20), library_of(*sequences[-20:])
    for sequence in sequences:
        long_lived.add(sequence)
    subject = SubjectSpec("mlp", ("factor", "hook", "counter"))
    for length in BLOCK_LENGTHS:
        equal = Random(length), Random(length)
        drawn = [long_lived.sample(equal[0], length, subject) for _ in range(300)]
        assert drawn == [young.sample(equal[1], length, subject) for _ in range(300)]
        assert len({*drawn}) > 5
        for block in drawn:
            assert block is not None
            density = long_lived.log_density(block, subject)
            assert density == pytest.approx(young.log_density(block, subject), rel=1e-12)
        old = {s.steps[n : n + length] for s in sequences[:-20] for n in range(len(s.steps))}
        gone = [b for b in old if len(b) == length and young.log_density(b, subject) == -math.inf]
        assert gone
        assert all(long_lived.log_density(block, subject) == -math.inf for block in gone)
