"""The toy compiler without the constructs that end their process: libFuzzer would end with it."""

from __future__ import annotations

from rondo.sequences.vocabulary import Vocabulary
from tests.toy_framework import ToyFramework

TAME = frozenset({"scale", "stale_scale", "batch_mean"})


class TameToy(ToyFramework):
    def vocabulary(self) -> Vocabulary:
        return super().vocabulary().restricted(constructs=TAME)
