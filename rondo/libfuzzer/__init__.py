"""Rondo under libFuzzer: the same `execute`, driven by atheris instead of our own campaign.

A target is two lines (see `fuzz_targets/`):

    from rondo.libfuzzer import fuzz
    fuzz(sys.argv, framework="torch", backend="eager")

The key insight: libFuzzer and the campaign want the same three things - bytes that mean something,
a number of features per execution, a verdict - so nothing here generates, runs or judges anything.
It only introduces the parts to each other, in the order that atheris needs.
"""

from __future__ import annotations

from rondo.libfuzzer.start import fuzz

__all__ = ["fuzz"]
