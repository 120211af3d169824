"""Known bugs and controls get the verdicts on record, and each handed kind has its case."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from rondo.frameworks.registry import load_framework

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench" / "bugs"))

import cases as known  # noqa: E402  (a script of the bench, not a package)

FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()
SLOW = {"inductor": [pytest.mark.slow]}


def test_there_are_sixteen_bugs_and_twenty_two_controls() -> None:
    assert Counter(case.bug for case in known.CASES) == {True: 16, False: 22}
    assert len({case.name for case in known.CASES}) == len(known.CASES)
    assert sum(case.report.startswith("https://") for case in known.CASES if case.bug) == 14


def test_a_case_about_caches_keeps_them_on_disk() -> None:
    for case in known.CASES:
        keyed = case.kind == "compile-cache key"
        cache = case.sequence(VOCABULARY, "inductor").options.choice("cache")
        assert (cache == "disk") == keyed, case.name


@pytest.mark.skipif(not torch.__version__.startswith(known.TORCH), reason="bugs come and go")
@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=SLOW.get(name, [])) for name in known.BACKENDS]
)
@pytest.mark.parametrize("case", known.CASES, ids=lambda case: case.name)
def test_a_case_gets_the_verdict_on_record(case: known.Case, backend: str) -> None:
    result = known.judged(case, backend, FRAMEWORK, VOCABULARY)
    assert result.verdict == case.verdict(backend), result.alarms
    assert result.raised == 0
