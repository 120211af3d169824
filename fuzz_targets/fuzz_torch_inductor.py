#!/usr/bin/env python3
"""torch.compile with back end `inductor` under libFuzzer.

    mkdir -p new && fuzz_targets/fuzz_torch_inductor.py new corpus/torch -max_total_time=120

The whole of torch.compile, generated kernels and graph caches included.
Flags, and what a crash means: docs/atheris.md.
"""

from __future__ import annotations

import sys

from rondo.libfuzzer import fuzz
from rondo.libfuzzer.known import known_folders

if __name__ == "__main__":
    fuzz(sys.argv, framework="torch", backend="inductor", known=known_folders(__file__))
