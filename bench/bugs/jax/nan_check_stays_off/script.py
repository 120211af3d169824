"""Once a scope without NaN checks was left, the flag that asks for them is ignored by jit."""

import contextlib
import io
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp


def ratio(x):
    return x / x


def raises(function):
    """Say whether a call that makes a NaN raises."""
    with contextlib.redirect_stdout(io.StringIO()):  # jax says there what it found
        try:
            function(jnp.zeros(2)).block_until_ready()
        except FloatingPointError:
            return True
    return False


jax.config.update("jax_debug_nans", True)
jitted = jax.jit(ratio)
jitted(jnp.ones(2))  # establishes
expected = raises(jitted)
with jax.debug_nans(False):  # changes
    pass
jitted(jnp.ones(2))
got = raises(jitted)  # exposes
jax.config.update("jax_debug_nans", False)
jax.config.update("jax_debug_nans", True)
again = raises(jitted)  # setting the flag anew does not help
fresh = raises(jax.jit(lambda x: x / x))  # a function that was not compiled yet
bug = expected and fresh and not got
print(
    f"{'BUG' if bug else 'ok'}: a NaN raises: {expected}, after an inner scope: {got},"
    f" after setting the flag: {again}, in a new function: {fresh}"
)
sys.exit(bug)
