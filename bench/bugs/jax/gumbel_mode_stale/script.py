"""A later call samples Gumbel noise in the mode that was set when it was traced."""

import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np


def noise(key):
    return jax.random.gumbel(key, (4,))


key = jax.random.key(0)
jitted = jax.jit(noise)
jitted(key)  # establishes
jax.config.update("jax_high_dynamic_range_gumbel", True)  # changes
got = np.asarray(jitted(key))  # exposes
jax.clear_caches()
fresh = np.asarray(jitted(key))  # the same call, with nothing retained
with jax.disable_jit():
    expected = np.asarray(noise(key))
bug = not np.allclose(got, expected, rtol=1e-5) and np.allclose(fresh, expected, rtol=1e-5)
print(
    f"{'BUG' if bug else 'ok'}: retained off by {abs(got - expected).max():.2g},"
    f" after jax.clear_caches() off by {abs(fresh - expected).max():.2g}"
)
sys.exit(bug)
