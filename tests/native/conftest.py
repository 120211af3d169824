from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from rondo._native.tracer import LineTracer, other_tracer

if os.environ.get("RONDO_FEW_EXAMPLES"):  # under a memory checker every example counts fifty times
    settings.register_profile("few", max_examples=5, deadline=None)
    settings.load_profile("few")


@pytest.fixture
def tracer_for() -> Iterator[Callable[..., LineTracer]]:
    """Makes started tracers and stops them after the test."""
    if (reason := other_tracer()) is not None:
        pytest.skip(f"lines cannot be traced in this test run: {reason}")
    made: list[LineTracer] = []

    def make(*trees: Path | str) -> LineTracer:
        tracer = LineTracer([str(tree) for tree in trees])
        made.append(tracer)
        tracer.start()
        return tracer

    yield make
    for tracer in made:
        tracer.stop()
