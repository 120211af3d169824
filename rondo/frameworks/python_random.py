"""The state of Python's `random`, as every adapter observes it."""

from __future__ import annotations

import random


def python_random_digest() -> str:
    """Return a short digest of the state of `random`: equal states, equal digests, anywhere.

    Integers and floats have one hash in every process, and hashing them is 50 times faster than
    formatting them; None, the usual last part of the state, is hashed by its address before 3.12.
    """
    version, internals, gauss = random.getstate()
    return f"{hash((version, internals, 0.0 if gauss is None else gauss)) & (2**48 - 1):012x}"
