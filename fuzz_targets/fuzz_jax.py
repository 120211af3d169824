#!/usr/bin/env python3
"""jax.jit under libFuzzer.

    mkdir -p new && fuzz_targets/fuzz_jax.py new corpus/jax -max_total_time=120

Tracing, both keys of the caches, lowering and XLA's CPU compiler, with one jit around the subject.
Flags, and what a crash means: docs/atheris.md.
"""

from __future__ import annotations

import sys

from rondo.libfuzzer import fuzz
from rondo.libfuzzer.known import known_folders

if __name__ == "__main__":
    fuzz(sys.argv, framework="jax", backend="jit", known=known_folders(__file__))
