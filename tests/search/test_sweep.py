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
from rondo.search.sweep import TOGETHER, Sweep, Task, values_of
from rondo.sequences.distribution import CACHED, changes_to
from rondo.sequences.step import Call, Change, Sequence, normalise
from rondo.sequences.vocabulary import COMPILER, ActionSpec, Vocabulary
from tests.toys import target, tiny_vocabulary, toy_vocabulary


def cached_toy() -> Vocabulary:
    """The toy with a back end that keeps code on disk, and what shows there."""
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
    return replace(
        plain,
        constructs=(*constructs, target("wide", 6, 5)),
        ambient=tuple(ambient),
        disk=("dear",),
    )


TOY, TINY = cached_toy(), tiny_vocabulary()
DROP = Change(COMPILER, 2, 0)
DEAREST = len(TOY.backends) - 1


def swept(vocabulary: Vocabulary, backend: int, length: int = 24) -> list[tuple[Task, Sequence]]:
    """Return all of the list."""
    state = SearchState.begin(vocabulary, Corpus(None, vocabulary), max_length=length)
    sweep, rng = Sweep(state), Random(3)
    found = []
    while (drawn := sweep.draw(rng, backend)) is not None:
        found.append(drawn)
    assert sweep.draw(rng, backend) is None
    for _, sequence in found:
        assert sequence.options.backend == backend
        assert normalise(sequence, vocabulary) == sequence
        assert state.distribution.log_prior(sequence) > -math.inf, "of those that may be proposed"
    return found


def changes_of(sequence: Sequence) -> list[Change]:
    return [step for step in sequence.steps if isinstance(step, Change)]


@pytest.mark.parametrize(
    ("vocabulary", "length"), [(TOY, 24), (TOY, 6), (TOY, 4), (TINY, 3), (TOY, 3)]
)
def test_each_change_is_made_once_on_a_cheap_back_end(vocabulary: Vocabulary, length: int) -> None:
    found = [sequence for _, sequence in swept(vocabulary, 0, length)]
    made = Counter(change for sequence in found for change in changes_of(sequence))
    assert made == Counter(c for each in vocabulary.all_targets() for c in changes_to(each))
    ambient = {each.name for each in vocabulary.ambient}
    for sequence in found:
        steps = sequence.steps
        assert len(steps) <= length
        assert len(changes_of(sequence)) <= TOGETHER
        if {change.target for change in changes_of(sequence)} & ambient:
            assert len(changes_of(sequence)) == 1, "nothing else is left by then"
        for position, step in enumerate(steps):
            if isinstance(step, Change):
                assert isinstance(steps[position - 1], Call)
                assert steps[position + 1] == steps[position - 1], "nothing else differs"


@pytest.mark.parametrize("backend", range(len(TOY.backends)))
@pytest.mark.parametrize("length", [1, 2])
def test_where_no_change_has_room_there_is_nothing_to_do(backend: int, length: int) -> None:
    assert swept(TOY, backend, length) == []


def test_inputs_take_every_value_that_means_something() -> None:
    found = [sequence for _, sequence in swept(TOY, 0) if not changes_of(sequence)]
    for name in ("number", "integer"):
        (about,) = [t for t in TOY.constructs if any(s.kind == name for s in t.inputs)]
        calls = [c for s in found if about.name in s.subject.constructs for _, c in s.calls()]
        values = {getattr(call, name) for call in calls}
        assert values == {0} | {value for operand, value in values_of(about) if operand == name}
        assert {call.sizes[0] for call in calls} == {0, 1, 2}
    assert {len(each.subject.constructs) for each in found} == {1}


def test_a_back_end_with_a_disk_has_three_rounds_and_its_own_constructs_first() -> None:
    found = swept(TOY, DEAREST)
    own = [task.target == "cache" for task, _ in found]
    assert own == sorted(own, reverse=True)
    assert sum(own) > 5, "changes in three rounds, inputs in two"
    rounds: Counter[tuple[str, bool]] = Counter()
    for task, sequence in found:
        if task.target != "wide":
            continue
        changes = [step for step in changes_of(sequence) if step != DROP]
        dropped = [n for n, step in enumerate(sequence.steps) if step == DROP]
        assert len(dropped) in (0, len(changes))
        assert all(sequence.steps[number + 1] in changes for number in dropped)
        rounds[sequence.options.choice("cache"), bool(dropped)] += len(changes)
    assert rounds == {("disk", False): 11, ("disk", True): 11, ("memory", False): 11}
    named = TOY.architectures_by_name
    assert not any(task.target in named for task, _ in found), "large ones are left to chains"


def test_elsewhere_there_is_one_round_and_nothing_is_dropped() -> None:
    plain = toy_vocabulary()
    for vocabulary in (plain, replace(plain, disk=("dear",))):
        kept = {s.options.choice("cache") for _, s in swept(vocabulary, DEAREST)}
        assert kept == ({"memory", "disk"} if vocabulary.disk else {"memory"})
        assert not any(task.caches == "dropped" for task, _ in swept(vocabulary, DEAREST))


def test_what_a_fault_hides_is_made_once_more_by_itself() -> None:
    sampler = MarkovSampler(SearchState.begin(TOY, Corpus(None, TOY)), seed=2, sweep_share=1.0)
    listed = len(swept(TOY, 0))
    seen: list[list[Change]] = []
    for _ in range(2 * listed + 30):
        sequence = sampler.propose()
        seen.append(changes_of(sequence))
        wide = [change for change in changes_of(sequence) if change.target == "wide"]
        sampler.observe(sequence, {}, ["stale"] if wide else [])
        if not sampler.sweep.left[0]:
            break
    wide_ones = [changes for changes in seen if changes and changes[0].target == "wide"]
    together, alone = [c for c in wide_ones if len(c) > 1], [c for c in wide_ones if len(c) == 1]
    assert sorted(map(len, together)) == [4, 7]
    assert {c for (c,) in alone} == {*changes_to(TOY.targets_by_name["wide"])}
    assert len(alone) == 11, "and alarms of one change are not split again"


def test_half_of_the_turns_are_the_sweeps_until_it_is_done() -> None:
    sampler = MarkovSampler(SearchState.begin(TOY, Corpus(None, TOY)), seed=2, looked_at=1, walk=1)
    listed = len(swept(TOY, 0))
    left = []
    for number in range(6 * listed):
        sampler.observe(sampler.propose(), {number: "new"})
        left.append(len(sampler.sweep.left.get(0, [0] * listed)))
    assert left[-1] == 0
    assert 1.2 * listed < left.index(0) < 4 * listed


def test_what_is_swept_is_no_chain_and_climbs_only_where_nobody_sweeps_it() -> None:
    state = SearchState.begin(TOY, Corpus(None, TOY))
    sampler = MarkovSampler(state, seed=2, backends=(0, DEAREST), sweep_share=1.0)
    before = dict(sampler.starts.yields.shares)
    tried: list[int] = []
    while all(sampler.sweep.left.get(backend) != [] for backend in sampler.tiers.backends):
        sequence = sampler.propose()
        assert sampler.observe(sequence, {len(tried): "new"}).accepted is None
        tried.append(sequence.options.backend)
    assert sampler.starts.yields.shares == before
    assert all(chain.state is None for chains in sampler.chains.values() for chain in chains)
    assert len(state.corpus) == len(tried) > 20, "what it showed is there to start from"
    climbing = sampler._climbers[DEAREST]
    assert 0 < len(climbing) < tried.count(0)
    named = TOY.architectures_by_name
    assert all(changes_of(each)[0].target in named for each in climbing)
