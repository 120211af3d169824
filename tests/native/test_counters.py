"""Counters under the real libFuzzer of atheris, each time in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from rondo._native import LibFuzzerMissingError, counters
from tests.native.test_lifecycle import PACKAGE

TARGET = """
import os, sys
flags = sys.getdlopenflags()
sys.setdlopenflags(flags | os.RTLD_GLOBAL)
import atheris.custom_mutator
sys.setdlopenflags(flags)
import atheris.core_with_libfuzzer
import atheris
from rondo._native import counters
from rondo._native.behaviour import hash64

counters.register()
counters.register()                             # a second time does nothing

def run_one(data):
    counters.hit_many([hash64(f"byte {b % 32}") for b in data])

def mutate(data, size, seed):
    return atheris.Mutate(data, size)

atheris.Setup(sys.argv, run_one, custom_mutator=mutate)
atheris.Fuzz()
"""


def test_hits_count_and_saturate() -> None:
    counters.clear()
    counters.hit(3)
    counters.hit(3 + counters.SIZE)
    counters.hit_many(array("Q", [5] * 300))
    counters.hit_many([2**64 - 1])
    values = counters.values()
    assert len(values) == counters.SIZE == 65536
    assert (values[3], values[5], values[65535]) == (2, 255, 1)
    assert sum(values) == 258
    counters.clear()
    assert not any(counters.values())
    with pytest.raises(OverflowError):
        counters.hit(-1)
    with pytest.raises(TypeError):
        counters.hit_many(b"12345678")


def test_without_libfuzzer_registering_says_what_to_do() -> None:
    if "atheris.core_with_libfuzzer" in sys.modules:
        pytest.skip("this test run has atheris's core loaded")
    with pytest.raises(LibFuzzerMissingError, match=r"import atheris\.core_with_libfuzzer before"):
        counters.register()
    assert not counters.registered()


def test_libfuzzer_sees_the_counters_and_keeps_the_mutator(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris is not installed for this interpreter")
    target = tmp_path / "target.py"
    target.write_text(TARGET)
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, str(target), "-runs=3000", "-seed=1", "-max_len=16"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert "found LLVMFuzzerCustomMutator" in result.stderr
    assert len(re.findall(r"INFO: Loaded 1 modules +\(65536 inline 8-bit", result.stderr)) == 1
    features = [int(n) for n in re.findall(r"NEW +cov: \d+ ft: (\d+)", result.stderr)]
    assert features == sorted(features)
    assert len(set(features)) > 10, result.stderr
    assert features[-1] >= 32, "every one of 32 behaviours is a feature"
