"""A later call draws from the generator that was the default when it was traced."""

import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np


def noise(seed):
    return jax.random.uniform(jax.random.key(seed), (3,))


jitted = jax.jit(noise)
jitted(5)  # establishes
jax.config.update("jax_default_prng_impl", "rbg")  # changes
got = np.asarray(jitted(5))  # exposes
jax.clear_caches()
fresh = np.asarray(jitted(5))  # the same call, with nothing retained
with jax.disable_jit():
    expected = np.asarray(noise(5))
bug = not np.allclose(got, expected) and np.allclose(fresh, expected)
print(
    f"{'BUG' if bug else 'ok'}: retained off by {abs(got - expected).max():.2g},"
    f" after jax.clear_caches() off by {abs(fresh - expected).max():.2g}"
)
sys.exit(bug)
