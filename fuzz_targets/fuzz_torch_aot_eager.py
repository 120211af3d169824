#!/usr/bin/env python3
"""torch.compile with back end `aot_eager` under libFuzzer.

    mkdir -p new && fuzz_targets/fuzz_torch_aot_eager.py new corpus/torch -max_total_time=120

Dynamo and AOTAutograd: functionalisation, the backward graph, its cache.
Flags, and what a crash means: docs/atheris.md.
"""

from __future__ import annotations

import sys

from rondo.libfuzzer import fuzz
from rondo.libfuzzer.known import known_folders

if __name__ == "__main__":
    fuzz(sys.argv, framework="torch", backend="aot_eager", known=known_folders(__file__))
