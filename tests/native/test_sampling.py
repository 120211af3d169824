"""The policy that keeps lines on 3.11 within a tenth of a campaign, run against a model of one."""

from __future__ import annotations

import random

import pytest

from rondo._native.sampling import TRACED_COST, SampledTracing


def campaign(
    policy: SampledTracing, *, seed: int, news: float, executions: int = 3000, spread: float = 1.0
) -> tuple[float, float, int]:
    """Runs a model campaign; returns total over untraced cost, worst such, news traced."""
    draw = random.Random(seed)
    plain = traced = 0.0
    worst, traced_news = 1.0, 0
    for i in range(executions):
        cpu = draw.lognormvariate(0, spread)
        plain += cpu
        new = draw.random() < news
        if policy.should_trace(
            new, spent_traced_cpu=traced, spent_total_cpu=plain + traced, execution_cpu=cpu
        ):
            traced += cpu * TRACED_COST * draw.uniform(0.9, 1.0)
            traced_news += new
        if i > 100:
            worst = max(worst, (plain + traced) / plain)
    return (plain + traced) / plain, worst, traced_news


@pytest.mark.parametrize("news", [0.0, 0.01, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_total_never_exceeds_the_limit(news: float, seed: int) -> None:
    policy = SampledTracing(always=False)
    total, worst, _ = campaign(policy, seed=seed, news=news)
    assert total <= worst <= 1.10
    assert policy.asked == 3000


def test_executions_with_new_behaviours_come_first() -> None:
    policy = SampledTracing(always=False)
    _, _, traced_news = campaign(policy, seed=1, news=0.02, spread=0.3)
    assert traced_news >= 0.9 * (traced_news + policy.refused_new)
    assert policy.traced > traced_news, "what is left samples the others"


def test_the_budget_is_used_when_there_is_demand() -> None:
    total, _, _ = campaign(SampledTracing(always=False), seed=2, news=0.5)
    assert total > 1.08


def test_without_the_cost_of_an_execution_the_mean_stands_in() -> None:
    policy = SampledTracing(always=False)
    assert not policy.should_trace(True, spent_traced_cpu=0.0, spent_total_cpu=1.0)
    assert policy.refused_new == 1
    for _ in range(30):
        policy.should_trace(False, spent_traced_cpu=0.0, spent_total_cpu=30.0)
    assert policy.should_trace(True, spent_traced_cpu=0.0, spent_total_cpu=60.0)
    assert not policy.should_trace(True, spent_traced_cpu=9.0, spent_total_cpu=69.0)
    assert policy.should_trace(True, spent_traced_cpu=1.75, spent_total_cpu=60.0)


def test_tracing_in_place_spends_only_the_surcharge() -> None:
    twice = SampledTracing(always=False)
    inside = SampledTracing(always=False, rerun=False)
    spent = {"spent_traced_cpu": 1.75, "spent_total_cpu": 10.0}
    assert twice.budget_left(**spent) < 0 < inside.budget_left(**spent)
    assert twice.cost(**spent) == pytest.approx(10 / 8.25)
    assert inside.cost(**spent) == pytest.approx(10 / 9.25)
    assert twice.cost(spent_traced_cpu=0, spent_total_cpu=0) == 1.0


def test_where_lines_are_free_everything_is_traced() -> None:
    policy = SampledTracing(always=True)
    assert all(
        policy.should_trace(False, spent_traced_cpu=9.0, spent_total_cpu=9.0) for _ in range(5)
    )
    assert policy.traced == 5


@pytest.mark.parametrize(
    "wrong", [{"limit": 0.9}, {"reserve": 2.0}, {"reserve": -0.1}, {"stride": 0}]
)
def test_nonsense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        SampledTracing(**wrong)  # type: ignore[arg-type]
