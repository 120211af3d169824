"""Static tuples that compare equal share a program, whatever the types of their elements are."""

import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp


def made(x, values):
    return x, jnp.asarray(values[0])


def outer(x, values):
    """Call the jitted function while another one is traced."""
    return jax.jit(lambda x: jitted(x, values))(x)


jitted = jax.jit(made, static_argnums=1)
x = jnp.ones(2)
lines = []
for name, call in (("called", jitted), ("called while tracing", outer)):
    jax.clear_caches()
    call(x, (1,))  # establishes
    got = call(x, (True,))[1].dtype  # exposes
    jax.clear_caches()
    fresh = call(x, (True,))[1].dtype  # the same call, with nothing retained
    with jax.disable_jit():
        expected = made(x, (True,))[1].dtype
    if got != expected == fresh:
        lines.append(f"{name}: eager gives {expected}, retained {got}, fresh {fresh}")
print(f"BUG: {'; '.join(lines)}" if lines else "ok: retained is what eager gives")
sys.exit(bool(lines))
