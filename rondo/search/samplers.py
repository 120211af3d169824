"""The samplers by name: what `--sampler` chooses from."""

from __future__ import annotations

from collections.abc import Mapping

from rondo.search.baselines import RandomSampler, StatelessSampler
from rondo.search.mcmc import MarkovSampler
from rondo.search.sampler import Sampler, SearchState

SAMPLERS: dict[str, type[MarkovSampler] | type[RandomSampler]] = {
    sampler.name: sampler for sampler in (MarkovSampler, RandomSampler, StatelessSampler)
}


def create_sampler(
    name: str,
    state: SearchState,
    *,
    seed: int = 0,
    backends: tuple[int, ...] = (0,),
    tier_weights: Mapping[int, float] | None = None,
) -> Sampler:
    """Return the sampler called `name` (a key of SAMPLERS), all of whose choices follow `seed`.

    `backends` are the numbers of the back ends that it may propose, `tier_weights` how often each.
    """
    return SAMPLERS[name](state, seed=seed, backends=backends, tier_weights=tier_weights)
