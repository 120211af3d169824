"""The adapter to JAX: jax.jit, its two levels of keys, and everything it keeps between calls."""

from __future__ import annotations

REQUIREMENT = "jax>=0.10"
