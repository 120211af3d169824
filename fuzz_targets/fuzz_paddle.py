#!/usr/bin/env python3
"""paddle.jit.to_static under libFuzzer.

    mkdir -p new && fuzz_targets/fuzz_paddle.py new corpus/paddle -max_total_time=120

Bytecode capture: guards, translations and graph breaks. Flags, and what a crash means:
docs/atheris.md.
"""

from __future__ import annotations

import sys

from rondo.libfuzzer import fuzz
from rondo.libfuzzer.known import known_folders

if __name__ == "__main__":
    fuzz(sys.argv, framework="paddle", backend="sot", known=known_folders(__file__))
