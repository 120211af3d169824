"""The sweep: every change once, each between two calls, and then no more."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from rondo.search.corpus import Corpus
from rondo.search.mcmc import MarkovSampler
from rondo.search.sampler import SearchState
from rondo.search.sweep import Sweep, values_of
from rondo.sequences.distribution import CACHED, changes_to
from rondo.sequences.step import Call, Change, Sequence, normalise
from rondo.sequences.vocabulary import COMPILER, ActionSpec, Vocabulary
from tests.toys import tiny_vocabulary, toy_vocabulary


def cached_toy() -> Vocabulary:
    """The toy, with a construct of the dearest back end and a change that drops compiled code."""
    plain = toy_vocabulary()
    constructs = [
        replace(each, kind=CACHED) if each.name == "cache" else each for each in plain.constructs
    ]
    ambient = [
        replace(each, actions=(*each.actions, ActionSpec("drop", "", drops=True)))
        if each.name == COMPILER
        else each
        for each in plain.ambient
    ]
    return replace(plain, constructs=tuple(constructs), ambient=tuple(ambient))


TOY, TINY = cached_toy(), tiny_vocabulary()
DROP = Change(COMPILER, 2, 0)
DEAREST = len(TOY.backends) - 1


def swept(vocabulary: Vocabulary, backend: int, length: int = 24) -> list[Sequence]:
    """Return all of the list."""
    state = SearchState.begin(vocabulary, Corpus(None, vocabulary), max_length=length)
    sweep, rng = Sweep(state), Random(3)
    found = []
    while (sequence := sweep.draw(rng, backend)) is not None:
        found.append(sequence)
    assert sweep.draw(rng, backend) is None
    for sequence in found:
        assert sequence.options.backend == backend
        assert normalise(sequence, vocabulary) == sequence
        assert state.distribution.log_prior(sequence) > -math.inf
    return found


def changes_of(sequence: Sequence) -> list[Change]:
    return [step for step in sequence.steps if isinstance(step, Change)]


@pytest.mark.parametrize(("vocabulary", "length"), [(TOY, 24), (TOY, 6), (TINY, 3)])
def test_each_change_is_made_once_on_a_cheap_back_end(vocabulary: Vocabulary, length: int) -> None:
    found = swept(vocabulary, 0, length)
    made = Counter(change for sequence in found for change in changes_of(sequence))
    assert made == Counter(c for target in vocabulary.all_targets() for c in changes_to(target))
    for sequence in found:
        steps = sequence.steps
        assert len(steps) <= length
        for position, step in enumerate(steps):
            if isinstance(step, Change):
                assert isinstance(steps[position - 1], Call)
                assert steps[position + 1] == steps[position - 1], "nothing else differs"


def test_inputs_take_every_value_that_means_something() -> None:
    found = [each for each in swept(TOY, 0) if not changes_of(each)]
    for name in ("number", "integer"):
        (target,) = [t for t in TOY.constructs if any(s.kind == name for s in t.inputs)]
        calls = [c for s in found if target.name in s.subject.constructs for _, c in s.calls()]
        values = {getattr(call, name) for call in calls}
        assert values == {0} | {value for operand, value in values_of(target) if operand == name}
        assert len({call.sizes for call in calls}) == 3
    assert {len(each.subject.constructs) for each in found} == {1}


def test_the_dearest_back_end_has_three_rounds_and_its_own_constructs_first() -> None:
    found = swept(TOY, DEAREST)
    own = ["cache" in each.subject.constructs for each in found]
    assert all(own[:5]), "changes in three rounds, inputs in two"
    rounds: Counter[tuple[str, bool]] = Counter()
    for sequence in found:
        if "hook" not in sequence.subject.constructs or not changes_of(sequence):
            continue
        steps = [step for step in changes_of(sequence) if step != DROP]
        if {step.target for step in steps} != {"hook"}:
            continue
        dropped = [n for n, step in enumerate(sequence.steps) if step == DROP]
        assert len(dropped) in (0, len(steps))
        assert all(sequence.steps[number + 1] in steps for number in dropped)
        rounds[sequence.options.choice("cache"), bool(dropped)] += len(steps)
    assert rounds == {("disk", False): 4, ("disk", True): 4, ("memory", False): 4}


def test_half_of_the_turns_are_the_sweeps_until_it_is_done() -> None:
    sampler = MarkovSampler(SearchState.begin(TOY, Corpus(None, TOY)), seed=2, looked_at=1, walk=1)
    listed = len(swept(TOY, 0))
    left = []
    for number in range(6 * listed):
        sampler.observe(sampler.propose(), {number: "new"})
        left.append(len(sampler.sweep.left.get(0, [0] * listed)))
    assert left[-1] == 0
    assert 1.2 * listed < left.index(0) < 4 * listed


def test_what_is_swept_is_no_chain() -> None:
    state = SearchState.begin(TOY, Corpus(None, TOY))
    sampler = MarkovSampler(state, seed=2, backends=(0, 1), sweep=1.0)
    before = dict(sampler.starts.yields.shares)
    for number in range(12):
        assert sampler.observe(sampler.propose(), {number: "new"}).accepted
    assert sampler.starts.yields.shares == before
    assert all(chain.state is None for chains in sampler.chains.values() for chain in chains)
    assert sampler._climbers == {0: [], 1: []}, "each back end has a list of its own"
    assert len(state.corpus) == 12, "and what it showed is there to start from"
