#!/usr/bin/env python3
"""tf.function under libFuzzer.

    mkdir -p new && fuzz_targets/fuzz_tensorflow.py new corpus/tensorflow -max_total_time=120

Plain graphs, without XLA: traces, retraces and their reasons. Flags, and what a crash means:
docs/atheris.md.
"""

from __future__ import annotations

import sys

from rondo.libfuzzer import fuzz
from rondo.libfuzzer.known import known_folders

if __name__ == "__main__":
    fuzz(sys.argv, framework="tensorflow", backend="graph", known=known_folders(__file__))
