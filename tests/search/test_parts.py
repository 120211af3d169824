"""Tiers share out time; the mix of moves learns, less and less, and forgets no move."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from rondo.search.mix import FLOOR, ProposalMix
from rondo.search.tiers import NOMINAL_COSTS, TIME_SHARES, TierSchedule, default_tier_weights
from rondo.sequences.mutate import MUTATORS


def test_default_weights_give_each_tier_its_share_of_the_time() -> None:
    weights = TierSchedule((0, 1, 2)).weights
    times = [weights[tier] * NOMINAL_COSTS[tier] for tier in range(3)]
    assert [time / sum(times) for time in times] == pytest.approx(TIME_SHARES)
    dear = 0.1 / NOMINAL_COSTS[2]
    assert default_tier_weights((2, 7)) == {2: dear, 7: dear}


def test_tiers_are_drawn_by_weight_and_weights_may_change() -> None:
    tiers, rng = TierSchedule((0, 2), {0: 3.0, 2: 1.0}), Random(0)
    assert tiers.weights == {0: 0.75, 2: 0.25}
    drawn = Counter(tiers.draw(rng) for _ in range(4000))
    assert drawn[0] / 4000 == pytest.approx(0.75, abs=0.03)
    tiers.weights = {0: 0.0, 2: 5.0}
    assert {tiers.draw(rng) for _ in range(100)} == {2}


@pytest.mark.parametrize("weights", [{}, {0: 1.0}, {0: 1.0, 1: -1.0}, {0: 0.0, 1: 0.0}])
def test_weights_that_do_not_fit_are_refused(weights: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="do not fit the back ends"):
        TierSchedule((0, 1), weights)


@pytest.mark.parametrize("backends", [(), (1, 1)])
def test_back_ends_must_be_some_and_distinct(backends: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="some and distinct"):
        TierSchedule(backends)


def test_the_mix_starts_as_the_moves_are_weighted() -> None:
    total = sum(move.weight for move in MUTATORS)
    expected = {move.name: move.weight / total for move in MUTATORS}
    assert ProposalMix().weights == pytest.approx(expected)


def test_moves_that_pay_are_tried_more_and_none_is_forgotten() -> None:
    mix = ProposalMix()
    first = dict(mix.weights)
    for n in range(2000):
        mix.observe(("cut_block", "swap_steps"), found=n % 2)
        mix.observe(("change_operand",), found=0)
    assert sum(mix.weights.values()) == pytest.approx(1.0)
    assert mix.weights["splice_block"] > 2 * first["splice_block"]
    assert mix.weights["swap_steps"] > 2 * first["swap_steps"]
    assert mix.weights["change_operand"] < 0.5 * first["change_operand"]
    for name, weight in mix.weights.items():
        assert weight >= FLOOR * first[name] - 1e-12


def test_learning_diminishes() -> None:
    mix, steps = ProposalMix(), []
    rng = Random(0)
    for _ in range(4000):
        before = dict(mix.weights)
        mix.observe((rng.choice(MUTATORS).name,), found=rng.random() < 0.1)
        steps.append(max(abs(mix.weights[name] - before[name]) for name in before))
    assert max(steps[-500:]) < 0.1 * max(steps[:500])
