"""JAX's configuration flags that tracing reads, with the values that sequences give them.

The key insight: two keys decide whether jit serves a call from what it has - the C++ fast path's
and, behind it, the trace cache's - and every flag that changes what tracing produces has to be in
both. Which flags are is JAX's own business; here stands only what each flag may be, the usual value
first, so that all of them are pictured, shown under `ambient.*` and put back alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax._src import api
from jax._src.config import config_ext

from rondo.frameworks.shared.observe import RandomStates, seed_random

FLAGS: dict[str, tuple[Any, ...]] = {
    "jax_enable_x64": (False, True),
    "jax_default_matmul_precision": (None, "bfloat16", "highest"),
    "jax_numpy_dtype_promotion": ("standard", "strict"),
    "jax_numpy_rank_promotion": ("allow", "raise"),
    "jax_debug_nans": (False, True),
    "jax_debug_infs": (False, True),
    "jax_debug_key_reuse": (False, True),
    "jax_default_prng_impl": ("threefry2x32", "rbg", "unsafe_rbg"),
    "jax_enable_custom_prng": (False, True),
    "jax_threefry_partitionable": (True, False),
    "jax_random_seed_offset": (0, 7),
    "jax_softmax_custom_jvp": (True, False),
    "jax_high_dynamic_range_gumbel": (False, True),
    "jax_use_direct_linearize": (True, False),
    "jax_mutable_array_checks": (True, False),
    "jax_log_compiles": (False, True),
    "eager_constant_folding": (False, True),
}
"""Flag -> the values a sequence gives it, the default first."""

KNOWN = {name: values for name, values in FLAGS.items() if name in jax.config.values}
"""Those of `FLAGS` that this version of JAX has."""

CHOICES = tuple((name, value) for name, values in KNOWN.items() for value in values)
"""Every flag with every value: the operands of `program.flag`."""


def set_flag(name: str, value: Any) -> None:
    """Set a flag until further notice, as `jax.config.update` does for users."""
    if name in KNOWN:
        jax.config.update(name, value)


def read_flags() -> dict[str, Any]:
    """Return the values of all flags in the table."""
    return {name: jax.config.values[name] for name in KNOWN}


class Ambient:
    """A picture of the flags and of Python's and numpy's random states, put back by `restore`."""

    def __init__(self) -> None:
        self._flags = read_flags()
        self._random = RandomStates()

    def restore(self) -> list[str]:
        """Put everything back and return the names of flags that had changed."""
        now = read_flags()
        changed = [name for name, value in self._flags.items() if now[name] != value]
        for name in changed:
            jax.config.update(name, self._flags[name])
        self._random.restore()
        return changed


def forget_thread_hook() -> None:
    """Let the debug flags' check of results follow the flags again in this thread.

    Part of a real reset: see `constructs/debug_nans_scope.py` for how it can be left behind.
    """
    hook = getattr(api, "_post_hook_state", None)
    if hook is not None:
        hook.set_local(config_ext.unset)


@contextmanager
def ambient(seed: int) -> Iterator[None]:
    """Seed Python and numpy; on leaving, put flags and random states back."""
    before = Ambient()
    seed_random(seed)
    try:
        yield
    finally:
        before.restore()
